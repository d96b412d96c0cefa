import { Schema } from "effect"
import { ActionSpec } from "./Action.ts"
import { isRequest, MessageType, Protocol } from "./DhcpEvent.ts"
import { DhcpEventFilter } from "./FilterFields.ts"
import { Cidr } from "./Ip.ts"
import { Mac, Oui } from "./Mac.ts"
import { millisOf, RuleSchedule } from "./Schedule.ts"
import { UserId } from "./User.ts"

export const RuleId = Schema.UUID.pipe(Schema.brand("RuleId"))
export type RuleId = typeof RuleId.Type

/** Longest window that one evaluation looks at, in minutes (seven days). */
export const lookbackMinutesMax = 10_080

const Count = Schema.Int.pipe(Schema.between(1, 1_000_000_000))

const Threshold = Schema.Struct({
  min_requests: Schema.optional(Count.annotations({ description: "client-originated messages in the window" })),
  min_unique_ips: Schema.optional(
    Count.annotations({ description: "distinct assigned, client or requested addresses in the window" })
  ),
  operator: Schema.optionalWith(Schema.Literal("and", "or"), { default: () => "and" as const })
}).pipe(
  Schema.filter((threshold) =>
    threshold.min_requests !== undefined || threshold.min_unique_ips !== undefined ||
    "Expected min_requests, min_unique_ips or both"
  )
)

const listOf = <A, I>(item: Schema.Schema<A, I>, max: number) => Schema.Array(item).pipe(Schema.maxItems(max))

const Exclusions = Schema.Struct({
  macs: Schema.optional(listOf(Mac, 1000)),
  ouis: Schema.optional(listOf(Oui, 1000)),
  subnets: Schema.optional(
    listOf(Cidr, 100).annotations({
      description: "clients that a server gave an address of these networks, or that a relay in them serves"
    })
  ),
  randomized: Schema.optional(
    Schema.Boolean.annotations({ description: "leave out clients with a locally administered MAC" })
  )
})

const draftFields = {
  name: Schema.String.pipe(Schema.pattern(/^[^\p{C}]{1,120}$/u, { message: () => "Expected 1 to 120 characters" })),
  description: Schema.optionalWith(
    Schema.String.pipe(Schema.pattern(/^[^\0\p{Cs}]{0,2000}$/u, { message: () => "Expected at most 2000 characters" })),
    { default: () => "" }
  ),
  enabled: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  mode: Schema.optionalWith(
    Schema.Literal("simulate", "enforce").annotations({ description: "simulate records what enforce would act on" }),
    { default: () => "simulate" as const }
  ),
  protocol: Schema.optionalWith(Schema.Literal(...Protocol.literals, "both"), { default: () => "both" as const }),
  lookback_minutes: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, lookbackMinutesMax)), {
    default: () => 60
  }),
  schedule: Schema.optionalWith(RuleSchedule, { default: () => ({ type: "manual" as const }) }),
  threshold: Threshold,
  message_types: Schema.optional(Schema.NonEmptyArray(MessageType).pipe(Schema.maxItems(18))),
  filter: Schema.optional(DhcpEventFilter),
  exclude: Schema.optional(Exclusions),
  cooldown_minutes: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(0, lookbackMinutesMax)).annotations({
      description: "for how long a client that was acted on is left alone by this rule"
    }),
    { default: () => 60 }
  ),
  max_detections: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(1, 10_000)).annotations({
      description: "above this many detected clients a run ends with a warning and acts on none"
    }),
    { default: () => 1000 }
  ),
  actions: Schema.optionalWith(listOf(ActionSpec, 10), { default: () => [] }),
  severity: Schema.optionalWith(Schema.Literal("info", "warning", "critical"), { default: () => "warning" as const }),
  tags: Schema.optionalWith(listOf(Schema.String.pipe(Schema.pattern(/^[^\p{C}]{1,64}$/u)), 20), { default: () => [] })
}

const draft = Schema.Struct(draftFields)

/** The parts of a rule that decide what it detects. */
export type Detector = Pick<
  typeof draft.Type,
  "protocol" | "threshold" | "message_types" | "filter" | "exclude" | "max_detections"
>

const countsRequests = (rule: Detector) =>
  rule.threshold.min_requests === undefined || rule.message_types === undefined ||
  rule.message_types.some(isRequest)

const detectable = <A extends Detector, I>(self: Schema.Schema<A, I>) =>
  self.pipe(Schema.filter((rule) =>
    countsRequests(rule) || {
      path: ["message_types"],
      message: "Expected a type that clients send: min_requests counts no other"
    }
  ))

/** What a user states of a rule; saving and previewing take the same. */
export const RuleDraft = detectable(draft)
export type RuleDraft = typeof RuleDraft.Type

/** A proposed rule to preview; `rule_id` names the saved rule whose cooldowns it is to honour. */
export const RulePreview = detectable(Schema.Struct({ ...draftFields, rule_id: Schema.optional(RuleId) }))
export type RulePreview = typeof RulePreview.Type

const recordFields = {
  id: RuleId,
  revision: Schema.Int,
  created_by: UserId,
  updated_by: UserId,
  created_at: Schema.DateTimeUtc,
  updated_at: Schema.DateTimeUtc
}

/** A saved rule. */
export const AutomationRule = Schema.Struct({ ...recordFields, ...draftFields }).annotations({
  identifier: "AutomationRule"
})
export type AutomationRule = typeof AutomationRule.Type

/** A saved rule with what is legal but probably not meant. */
export const AutomationRuleAnswer = Schema.Struct({
  ...AutomationRule.fields,
  warnings: Schema.Array(Schema.String)
}).annotations({ identifier: "AutomationRuleAnswer" })

/** What is legal in a rule but probably not meant. */
export const warningsOf = (rule: RuleDraft): ReadonlyArray<string> => {
  const warnings: Array<string> = []
  const { schedule } = rule
  const every = schedule.type === "interval" ? millisOf(schedule.every) ?? 0 : 0
  if (every > rule.lookback_minutes * 60_000) {
    warnings.push("lookback_minutes is shorter than the interval: traffic between two windows is never looked at")
  }
  if (rule.mode === "enforce" && rule.actions.length === 0) {
    warnings.push("mode is enforce, but there is no action to take")
  }
  return warnings
}
