import type { AlarmTransition } from "../schema/Alarm.ts"
import type { EventDraft } from "../schema/ServiceEvent.ts"
import type { AlarmChange } from "./AlarmRules.ts"

const typeOf = ({ from_status, to_status }: AlarmTransition) => {
  if (to_status === "acknowledged") return "alarm.acknowledged"
  if (to_status === "resolved") return "alarm.resolved"
  return from_status === "" ? "alarm.opened" : "alarm.reopened"
}

/**
 * What the service tells of a change of alarms on clients: an event for each change of a status. Conditions of the
 * service itself have events of their own.
 */
export const alarmEvents = ({ alarms, transitions }: AlarmChange): ReadonlyArray<EventDraft> => {
  const byId = new Map(alarms.map((alarm) => [alarm.id, alarm]))
  return transitions.flatMap((transition) => {
    const alarm = byId.get(transition.alarm_id)
    if (alarm === undefined || alarm.rule_id === null || alarm.protocol === null) return []
    return [{
      type: typeOf(transition),
      subject: `alarm/${alarm.id}`,
      severity: alarm.severity,
      time: transition.at,
      data: {
        alarm_id: alarm.id,
        rule_id: alarm.rule_id,
        rule_name: alarm.rule_name,
        client: alarm.client,
        protocol: alarm.protocol,
        status: transition.to_status,
        total_requests: alarm.total_requests,
        unique_ips: alarm.unique_ips,
        comment: alarm.comment,
        by: transition.by === "" ? null : Number(transition.by)
      }
    }]
  })
}
