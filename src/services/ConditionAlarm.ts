import type { DateTime } from "effect"
import { type Alarm, AlarmId, type AlarmKind } from "../schema/Alarm.ts"
import { type AlarmChange, resolve, transition } from "./AlarmRules.ts"

/** How it stands with the service itself, in one respect. */
export interface Condition {
  readonly kind: Exclude<AlarmKind, "detection">
  /** What it is about; of each there is one alarm at a time. */
  readonly subject: string
  readonly name: string
  readonly severity: Alarm["severity"]
  /** `between` leaves an alarm in place and opens none, so that none flaps. */
  readonly state: "amiss" | "between" | "fine"
  /** What there is to say of it, as the comment of an alarm that opens. */
  readonly comment: string
  readonly at: DateTime.Utc
}

const opened = ({ at, comment, kind, name, severity, subject }: Condition, uuid: () => string): Alarm => ({
  id: AlarmId.make(uuid()),
  kind,
  rule_id: null,
  rule_name: name,
  client: subject,
  protocol: null,
  severity,
  status: "firing",
  present: true,
  total_requests: 0,
  unique_ips: 0,
  count: 1,
  flaps: 0,
  opened_at: at,
  last_seen_at: at,
  acknowledged_at: null,
  acknowledged_by: null,
  comment,
  resolved_at: null,
  resolved_by: null
})

/** What a look at a condition changes, given the alarm of it that is open, if there is one. */
export const conditionAlarm = (
  open: Alarm | undefined,
  condition: Condition,
  uuid: () => string
): AlarmChange => {
  const { at, state } = condition
  const mover = { by: null, at, requestId: "" }
  if (open === undefined) {
    if (state !== "amiss") return { alarms: [], transitions: [] }
    const alarm = opened(condition, uuid)
    return { alarms: [alarm], transitions: [transition(alarm, "", mover, uuid)] }
  }
  if (state !== "fine") return { alarms: [{ ...open, last_seen_at: at, count: open.count + 1 }], transitions: [] }
  const { alarms, transitions } = resolve(open, { ...mover, comment: undefined }, uuid)
  return { alarms: alarms.map((alarm) => ({ ...alarm, present: false })), transitions }
}
