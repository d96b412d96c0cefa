import { protocols } from "./DhcpEvent.ts"
import { Filter } from "./Filter.ts"
import { eventTypes, severities } from "./ServiceEvent.ts"

/** What matchers can ask of an event of the service: its envelope, and of its data what names things. */
export const eventFilterFields = {
  type: { enum: eventTypes },
  alert: "text",
  severity: { enum: severities },
  subject: "text",
  time: "time",
  rule_id: "text",
  rule_name: "text",
  client: "client",
  protocol: { enum: protocols },
  config_id: "text",
  config_name: "text",
  job_id: "text",
  username: "text",
  address: "ip"
} as const
export type EventFilterField = keyof typeof eventFilterFields

/** A filter on events of the service; without rules it takes all. */
export const EventFilter = Filter("EventFilter", eventFilterFields)
export type EventFilter = typeof EventFilter.Type

/** The same where there has to be at least one rule. */
export const EventMatcher = Filter("EventMatcher", eventFilterFields, { nonEmpty: true })
export type EventMatcher = typeof EventMatcher.Type
