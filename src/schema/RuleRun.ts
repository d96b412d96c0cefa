import { Schema } from "effect"
import { RuleId } from "./AutomationRule.ts"
import { DetectedMac } from "./Detection.ts"
import { Instant } from "./Time.ts"
import { UserId } from "./User.ts"

export const RunId = Schema.UUID.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

export const RunStatus = Schema.Literal("success", "warning", "failed", "skipped", "simulated").annotations({
  description:
    "success: acted; simulated: dry run or mode simulate; skipped: every client in cooldown; warning: over max_detections, acted on none, or left out protected clients or blocks above the cap; failed: see the error"
})
export type RunStatus = typeof RunStatus.Type

/** Body of a run by hand; every field is optional. */
export const RunRequest = Schema.Struct({
  dry_run: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  start: Schema.optional(Instant),
  end: Schema.optional(Instant),
  reason: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[^\0\p{Cs}]{0,500}$/u, { message: () => "Expected at most 500 characters" }))
  )
})
export type RunRequest = typeof RunRequest.Type

/** Data of a run result (specification 2.2). */
export const RunResult = Schema.Struct({
  RuleID: RuleId,
  RuleName: Schema.String,
  MacsDetected: Schema.NonNegativeInt,
  ActionsTriggered: Schema.NonNegativeInt,
  DetectedMacs: Schema.Record({ key: Schema.String, value: DetectedMac }).annotations({
    description: "the detected clients by MAC, or by DUID where a client has no MAC or is detected under both protocols"
  }),
  ExecutionTimeMs: Schema.NonNegativeInt,
  Status: RunStatus,
  ErrorMessage: Schema.String
}).annotations({ identifier: "RunResult" })
export type RunResult = typeof RunResult.Type

/** One evaluation of a rule as the ledger keeps it. */
export const RuleRun = Schema.Struct({
  id: RunId,
  rule_id: RuleId,
  trigger: Schema.Literal("manual", "schedule", "backfill"),
  due_at: Schema.NullOr(Schema.DateTimeUtc).annotations({ description: "when it was due; null when run by hand" }),
  mode: Schema.Literal("simulate", "enforce"),
  dry_run: Schema.Boolean,
  status: RunStatus,
  window_start: Schema.DateTimeUtc,
  window_end: Schema.DateTimeUtc,
  macs_detected: Schema.NonNegativeInt,
  actions_triggered: Schema.NonNegativeInt,
  query: Schema.String,
  query_params: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  execution_time_ms: Schema.NonNegativeInt,
  error: Schema.String,
  reason: Schema.String,
  user_id: Schema.NullOr(UserId),
  request_id: Schema.String,
  started_at: Schema.DateTimeUtc,
  finished_at: Schema.DateTimeUtc
}).annotations({ identifier: "RuleRun" })
export type RuleRun = typeof RuleRun.Type

/** A run with its verdict on the window that it was due for; null when run by hand. */
export const RuleRunAnswer = Schema.Struct({
  ...RuleRun.fields,
  verdict: Schema.NullOr(Schema.Literal("run", "skipped", "failed"))
}).annotations({ identifier: "RuleRunAnswer" })

/** What a run makes of the window that it was due for. */
export const verdictOf = (status: RunStatus): "run" | "skipped" | "failed" =>
  status === "failed" || status === "skipped" ? status : "run"
