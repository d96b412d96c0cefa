import { Schema } from "effect"
import { RuleId } from "./AutomationRule.ts"
import { RunId } from "./RuleRun.ts"
import { Instant } from "./Time.ts"

export const Verdict = Schema.Literal("running", "run", "skipped", "failed", "missed").annotations({
  description:
    "running: being evaluated; run: evaluated; skipped: all clients in cooldown, or the run before was still " +
    "going; failed: see the reason; missed: nobody was there to run it"
})
export type Verdict = typeof Verdict.Type

/** A time at which an enabled rule was due, and what became of it. */
export const DueWindow = Schema.Struct({
  rule_id: RuleId,
  due_at: Schema.DateTimeUtc,
  through: Schema.NullOr(Schema.DateTimeUtc).annotations({
    description: "set where so many windows in a row were missed that one entry stands for all of them up to this time"
  }),
  verdict: Verdict,
  run_id: Schema.NullOr(RunId),
  reason: Schema.String
}).annotations({ identifier: "DueWindow" })
export type DueWindow = typeof DueWindow.Type

/** Most windows that one backfill works off. */
export const backfillWindowsMax = 1000

/** Body of a backfill: windows that were missed or failed, due after `start` up to and including `end`. */
export const BackfillRequest = Schema.Struct({
  start: Instant,
  end: Instant,
  mode: Schema.optionalWith(
    Schema.Literal("simulate", "enforce").annotations({
      description:
        "enforce also needs a rule in this mode; a client that the rule acted on around that time is left alone"
    }),
    { default: () => "simulate" as const }
  ),
  limit: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, backfillWindowsMax)), { default: () => 100 })
})
export type BackfillRequest = typeof BackfillRequest.Type

/** What a backfill did; `remaining` windows of the range are still missed or failed. */
export const BackfillResult = Schema.Struct({
  rule_id: RuleId,
  run: Schema.NonNegativeInt,
  skipped: Schema.NonNegativeInt,
  failed: Schema.NonNegativeInt,
  remaining: Schema.NonNegativeInt,
  actions_triggered: Schema.NonNegativeInt
}).annotations({ identifier: "BackfillResult" })
export type BackfillResult = typeof BackfillResult.Type

/** The scheduler as any node sees it. */
export const SchedulerStatus = Schema.Struct({
  leader: Schema.NullOr(Schema.String).annotations({
    description: "node that runs the schedules; null while none does"
  }),
  last_tick_at: Schema.NullOr(Schema.DateTimeUtc),
  lag_ms: Schema.NonNegativeInt.annotations({ description: "how late the latest window was begun" }),
  running: Schema.Array(Schema.Struct({ rule_id: RuleId, due_at: Schema.DateTimeUtc })),
  next: Schema.Array(Schema.Struct({ rule_id: RuleId, due_at: Schema.DateTimeUtc })).annotations({
    description: "next due time of each scheduled rule, soonest first"
  })
}).annotations({ identifier: "SchedulerStatus" })
export type SchedulerStatus = typeof SchedulerStatus.Type
