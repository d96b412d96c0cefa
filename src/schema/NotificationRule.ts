import { Schema } from "effect"
import { EventFilter, eventFilterFields, EventMatcher } from "./EventFilter.ts"
import { promMillis } from "./PromDuration.ts"
import { EventSeverity, EventTypeName, ServiceEvent } from "./ServiceEvent.ts"
import { UserId } from "./User.ts"

export const NotificationRuleId = Schema.UUID.pipe(Schema.brand("NotificationRuleId"))
export type NotificationRuleId = typeof NotificationRuleId.Type

const text = (max: number, least = 0) =>
  Schema.String.pipe(
    Schema.filter((value) =>
      (value.length >= least && value.length <= max && /^[^\0\p{Cs}]*$/u.test(value)) ||
      `Expected ${least} to ${max} characters`
    )
  )

const duration = (leastMillis: number, fallback: string) =>
  Schema.optionalWith(
    Schema.String.pipe(
      Schema.filter((value) => {
        const millis = promMillis(value)
        return (millis !== undefined && millis >= leastMillis && millis <= 31_536_000_000) ||
          `Expected a duration such as 30s or 1h30m, at least ${leastMillis / 1000}s and at most 1y`
      })
    ).annotations({ description: `Prometheus duration, ${fallback} unless given` }),
    { default: () => fallback }
  )

/** What events can be grouped by: fields that stay the same from an alert's begin to its end. */
export const groupLabels = Object.keys(eventFilterFields).filter((name) => name !== "type" && name !== "time")

/** What a user states of a notification rule; names and defaults are Alertmanager's. */
export const NotificationRuleDraft = Schema.Struct({
  name: text(200, 1),
  description: Schema.optionalWith(text(2000), { default: () => "" }),
  enabled: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  event_types: Schema.optionalWith(Schema.Array(EventTypeName), { default: () => [] }).annotations({
    description: "none: all types"
  }),
  min_severity: Schema.optionalWith(EventSeverity, { default: () => "info" as const }),
  matchers: Schema.optional(EventFilter),
  channel: Schema.optionalWith(Schema.Literal("log-pipeline"), { default: () => "log-pipeline" as const }),
  group_by: Schema.optionalWith(
    Schema.Array(Schema.Literal("...", ...groupLabels)).pipe(Schema.maxItems(10)).annotations({
      description: "labels that an event of a group shares with the others; `...` makes each subject a group of its own"
    }),
    { default: () => [] }
  ),
  group_wait: duration(0, "30s"),
  group_interval: duration(1000, "5m"),
  repeat_interval: duration(1000, "4h"),
  send_resolved: Schema.optionalWith(Schema.Boolean, { default: () => true })
})
export type NotificationRuleDraft = typeof NotificationRuleDraft.Type

export const NotificationRule = Schema.Struct({
  id: NotificationRuleId,
  ...NotificationRuleDraft.fields,
  revision: Schema.Int,
  created_by: UserId,
  updated_by: UserId,
  created_at: Schema.DateTimeUtc,
  updated_at: Schema.DateTimeUtc
}).annotations({ identifier: "NotificationRule" })
export type NotificationRule = typeof NotificationRule.Type

export const SilenceId = Schema.UUID.pipe(Schema.brand("SilenceId"))
export type SilenceId = typeof SilenceId.Type

/** What a user states of a silence: it mutes what its matchers match, from `starts_at` (now) until `ends_at`. */
export const SilenceDraft = Schema.Struct({
  matchers: EventMatcher,
  comment: text(1000, 1),
  starts_at: Schema.optional(Schema.DateTimeUtc),
  ends_at: Schema.DateTimeUtc
})
export type SilenceDraft = typeof SilenceDraft.Type

export const Silence = Schema.Struct({
  id: SilenceId,
  matchers: EventMatcher,
  comment: Schema.String,
  starts_at: Schema.DateTimeUtc,
  ends_at: Schema.DateTimeUtc,
  created_by: UserId,
  created_at: Schema.DateTimeUtc
}).annotations({ identifier: "Silence" })
export type Silence = typeof Silence.Type

export const SilenceStatus = Schema.Literal("pending", "active", "expired")

/** Body of a preview: a rule as it would be saved, a silence's matchers, or both. */
export const NotificationPreview = Schema.Struct({
  rule: Schema.optional(NotificationRuleDraft),
  silence: Schema.optional(Schema.Struct({ matchers: EventMatcher })),
  limit: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 1000)), { default: () => 100 })
}).pipe(
  Schema.filter(({ rule, silence }) =>
    rule !== undefined || silence !== undefined || "Expected a rule, a silence or both"
  )
)

/** Which of the last day's events a rule would have taken, and a silence muted. */
export const NotificationPreviewResult = Schema.Struct({
  start: Schema.DateTimeUtc,
  end: Schema.DateTimeUtc,
  examined: Schema.Int.annotations({ description: "events of the last day, at most the newest 10000" }),
  matched: Schema.Int,
  silenced: Schema.Int.annotations({ description: "how many of the matched a silence would mute" }),
  groups: Schema.Array(
    Schema.Struct({ labels: Schema.Record({ key: Schema.String, value: Schema.String }), events: Schema.Int })
  ),
  items: Schema.Array(Schema.Struct({ event: ServiceEvent, silenced: Schema.Boolean }))
}).annotations({ identifier: "NotificationPreviewResult" })
