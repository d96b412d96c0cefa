import { DateTime } from "effect"
import { type Alarm, AlarmId, type AlarmStatus, type AlarmTransition } from "../schema/Alarm.ts"
import type { AutomationRule } from "../schema/AutomationRule.ts"
import { clientOfDetection, type DetectedMac } from "../schema/Detection.ts"
import type { UserId } from "../schema/User.ts"

/** What a completed run of a rule saw: all clients that match at `at`, those in cooldown included. */
export interface Observation {
  readonly rule: Pick<AutomationRule, "id" | "name" | "severity" | "cooldown_minutes">
  readonly at: DateTime.Utc
  readonly matched: ReadonlyArray<DetectedMac>
  readonly requestId: string
}

/** Alarms as they are afterwards, with the changes of status among them. */
export interface AlarmChange {
  readonly alarms: ReadonlyArray<Alarm>
  readonly transitions: ReadonlyArray<AlarmTransition>
}

export interface Mover {
  readonly by: UserId | null
  readonly at: DateTime.Utc
  readonly requestId: string
}

export const transition = (
  alarm: Alarm,
  from: AlarmStatus | "",
  { at, by, requestId }: Mover,
  uuid: () => string
): AlarmTransition => ({
  id: uuid(),
  at,
  alarm_id: alarm.id,
  rule_id: alarm.rule_id,
  client: alarm.client,
  severity: alarm.severity,
  from_status: from,
  to_status: alarm.status,
  by: by === null ? "" : String(by),
  request_id: requestId
})

const seen = (detection: DetectedMac, at: DateTime.Utc) => ({
  protocol: detection.Protocol,
  total_requests: detection.TotalRequests,
  unique_ips: detection.UniqueIPs,
  last_seen_at: at,
  present: true
})

const opened = ({ at, rule }: Observation, detection: DetectedMac, uuid: () => string): Alarm => ({
  id: AlarmId.make(uuid()),
  kind: "detection",
  rule_id: rule.id,
  rule_name: rule.name,
  client: clientOfDetection(detection),
  severity: rule.severity,
  status: "firing",
  count: 1,
  flaps: 0,
  opened_at: at,
  acknowledged_at: null,
  acknowledged_by: null,
  comment: "",
  resolved_at: null,
  resolved_by: null,
  ...seen(detection, at)
})

const reopened = (alarm: Alarm, detection: DetectedMac, at: DateTime.Utc): Alarm => ({
  ...alarm,
  ...seen(detection, at),
  status: "firing",
  count: alarm.count + 1,
  flaps: alarm.flaps + 1,
  acknowledged_at: null,
  acknowledged_by: null,
  resolved_at: null,
  resolved_by: null
})

/** From when on a resolved alarm is left alone by its rule: a client detected after that is a new alarm. */
export const recentSince = ({ at, rule }: Pick<Observation, "at" | "rule">): DateTime.Utc =>
  DateTime.subtract(at, { minutes: rule.cooldown_minutes })

/**
 * What a run makes of the alarms of its rule: `known` are the open ones and those resolved since `recentSince`. An
 * alarm resolved by hand stays so while its client is detected on and on, within the cooldown; one that has been away
 * reopens. A run that looked at older traffic than the alarm's latest changes nothing.
 */
export const observe = (
  known: ReadonlyArray<Alarm>,
  observation: Observation,
  uuid: () => string
): AlarmChange => {
  const { at, matched, requestId } = observation
  const mover = { by: null, at, requestId }
  const recent = recentSince(observation)
  const left = new Map<string, Alarm>()
  for (const alarm of known) {
    const other = left.get(alarm.client)
    if (other === undefined || DateTime.greaterThan(alarm.opened_at, other.opened_at)) left.set(alarm.client, alarm)
  }
  const alarms: Array<Alarm> = []
  const transitions: Array<AlarmTransition> = []
  const change = (alarm: Alarm, from?: AlarmStatus | "") => {
    alarms.push(alarm)
    if (from !== undefined) transitions.push(transition(alarm, from, mover, uuid))
  }
  const done = new Set<string>()
  for (const detection of matched) {
    const client = clientOfDetection(detection)
    if (done.has(client)) continue
    done.add(client)
    const alarm = left.get(client)
    left.delete(client)
    if (alarm === undefined || (alarm.resolved_at !== null && DateTime.lessThanOrEqualTo(alarm.resolved_at, recent))) {
      change(opened(observation, detection, uuid), "")
    } else if (alarm.resolved_at === null) {
      if (DateTime.greaterThan(at, alarm.last_seen_at)) {
        change({ ...alarm, ...seen(detection, at), count: alarm.count + 1 })
      }
    } else if (!alarm.present && DateTime.greaterThan(at, alarm.resolved_at)) {
      change(reopened(alarm, detection, at), "resolved")
    }
  }
  for (const alarm of left.values()) {
    if (!alarm.present || DateTime.lessThanOrEqualTo(at, alarm.resolved_at ?? alarm.last_seen_at)) continue
    if (alarm.resolved_at !== null) change({ ...alarm, present: false })
    else change({ ...alarm, status: "resolved", present: false, resolved_at: at }, alarm.status)
  }
  return { alarms, transitions }
}

/** A user takes note of an alarm that fires; doing so again changes only the comment. */
export const acknowledge = (
  alarm: Alarm,
  { comment, ...mover }: Mover & { readonly comment: string | undefined },
  uuid: () => string
): AlarmChange => {
  const acknowledged: Alarm = {
    ...alarm,
    status: "acknowledged",
    acknowledged_at: alarm.acknowledged_at ?? mover.at,
    acknowledged_by: alarm.acknowledged_by ?? mover.by,
    comment: comment ?? alarm.comment
  }
  const from = alarm.status
  return {
    alarms: [acknowledged],
    transitions: from === "firing" ? [transition(acknowledged, from, mover, uuid)] : []
  }
}

/** A user, or nobody where its rule is gone, declares an open alarm over. */
export const resolve = (
  alarm: Alarm,
  { comment, ...mover }: Mover & { readonly comment: string | undefined },
  uuid: () => string
): AlarmChange => {
  const resolved: Alarm = {
    ...alarm,
    status: "resolved",
    resolved_at: mover.at,
    resolved_by: mover.by,
    comment: comment ?? alarm.comment
  }
  return { alarms: [resolved], transitions: [transition(resolved, alarm.status, mover, uuid)] }
}
