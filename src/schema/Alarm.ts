import { Schema } from "effect"
import { RuleId } from "./AutomationRule.ts"
import { Protocol } from "./DhcpEvent.ts"
import { UserId } from "./User.ts"

export const AlarmId = Schema.UUID.pipe(Schema.brand("AlarmId"))
export type AlarmId = typeof AlarmId.Type

export const AlarmStatus = Schema.Literal("firing", "acknowledged", "resolved")
export type AlarmStatus = typeof AlarmStatus.Type

export const Severity = Schema.Literal("info", "warning", "critical")

/** `detection`: a rule detects a client; `disk`: the disk of the event store is about to be full. */
export const AlarmKind = Schema.Literal("detection", "disk")
export type AlarmKind = typeof AlarmKind.Type

/**
 * That a rule detects a client, from the first run that did until one that no longer does; or that something is amiss
 * with the service itself.
 */
export const Alarm = Schema.Struct({
  id: AlarmId,
  kind: AlarmKind,
  rule_id: Schema.NullOr(RuleId).annotations({ description: "null where no rule is behind it" }),
  rule_name: Schema.String,
  client: Schema.String.annotations({
    description: "MAC of the client, or its DUID where it has none; of a disk the store that it belongs to"
  }),
  protocol: Schema.NullOr(Protocol),
  severity: Severity,
  status: AlarmStatus,
  present: Schema.Boolean.annotations({ description: "whether the latest run of the rule still detected the client" }),
  total_requests: Schema.NonNegativeInt,
  unique_ips: Schema.NonNegativeInt,
  count: Schema.Int.annotations({ description: "runs that detected the client" }),
  flaps: Schema.NonNegativeInt.annotations({
    description: "how often it came back within the cooldown of the rule, which reopens the alarm"
  }),
  opened_at: Schema.DateTimeUtc,
  last_seen_at: Schema.DateTimeUtc,
  acknowledged_at: Schema.NullOr(Schema.DateTimeUtc),
  acknowledged_by: Schema.NullOr(UserId),
  comment: Schema.String,
  resolved_at: Schema.NullOr(Schema.DateTimeUtc),
  resolved_by: Schema.NullOr(UserId).annotations({ description: "null where the client was no longer detected" })
}).annotations({ identifier: "Alarm" })
export type Alarm = typeof Alarm.Type

/** A change of an alarm's status; `from_status` is empty for one that opened, `by` where no user did it. */
export const AlarmTransition = Schema.Struct({
  id: Schema.UUID,
  at: Schema.DateTimeUtc,
  alarm_id: AlarmId,
  rule_id: Schema.NullOr(RuleId),
  client: Schema.String,
  severity: Severity,
  from_status: Schema.Literal("", ...AlarmStatus.literals),
  to_status: AlarmStatus,
  by: Schema.String,
  request_id: Schema.String
})
export type AlarmTransition = typeof AlarmTransition.Type

/** Body of an acknowledgement and of a resolution. */
export const AlarmComment = Schema.Struct({
  comment: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[^\0\p{Cs}]{0,1000}$/u, { message: () => "Expected at most 1000 characters" }))
  )
})
