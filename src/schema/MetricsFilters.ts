import { Filter } from "./Filter.ts"

const alarmFields = {
  alarm_id: "text",
  rule_id: "text",
  client: "client",
  severity: { enum: ["info", "warning", "critical"] }
} as const

/** A filter on alarms, for the alarm statistics. */
export const AlarmFilter = Filter("AlarmFilter", alarmFields)
export type AlarmFilter = typeof AlarmFilter.Type
export type AlarmFilterField = keyof typeof alarmFields

const trafficFields = { node: "text", target: "text" } as const

/** A filter on traffic counters: by the node that reads them, and by the network namespace they are of. */
export const TrafficFilter = Filter("TrafficFilter", trafficFields)
export type TrafficFilter = typeof TrafficFilter.Type
export type TrafficFilterField = keyof typeof trafficFields
