import { Context, Data, type DateTime, type Effect } from "effect"
import type { RuleId } from "../schema/AutomationRule.ts"
import type { DueWindow, Verdict } from "../schema/DueWindow.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { RunId } from "../schema/RuleRun.ts"
import type { RuleSchedule } from "../schema/Schedule.ts"

/** The window was taken from this run meanwhile: what it found must not be acted on. */
export class DueLost extends Data.TaggedError("DueWindows/DueLost")<{ readonly run: RunId }> {}

/** A stretch of time over which a rule was enabled with one schedule: due after `since` up to `until`, if it ended. */
export interface Span {
  readonly id: number
  readonly rule: RuleId
  readonly schedule: RuleSchedule
  readonly since: DateTime.Utc
  readonly until: DateTime.Utc | null
  /** Up to here every due window has its verdict. */
  readonly settled: DateTime.Utc
}

/** Who evaluates a window, and for how long that is believed without another sign of life. */
export interface Claim {
  readonly run: RunId
  readonly owner: string
  readonly leaseUntil: DateTime.Utc
}

/** A scheduler's sign of life. */
export interface Beat {
  readonly node: string
  readonly at: DateTime.Utc
  readonly lagMillis: number
}

/**
 * When rules were due, and what became of each of these times. Spans follow the rules in the transactions that change
 * them; a window has one entry, whoever else is at work.
 */
export class DueWindows extends Context.Tag("services/DueWindows")<
  DueWindows,
  {
    /** Those that may still have windows without a verdict. */
    readonly spans: Effect.Effect<ReadonlyArray<Span>>
    /** Takes a window of an open span to evaluate it: false where it is taken, or the rule was changed. */
    readonly claim: (span: Span, due: DateTime.Utc, claim: Claim) => Effect.Effect<boolean>
    /** Gives these windows a verdict without evaluating them, as far as they have none, and settles the span so far. */
    readonly pass: (span: Span, passed: {
      readonly verdict: "missed" | "skipped"
      readonly reason: string
      readonly windows: ReadonlyArray<Pick<DueWindow, "due_at" | "through">>
      readonly settled: DateTime.Utc
    }) => Effect.Effect<void>
    /** Prolongs all that this owner evaluates. */
    readonly renew: (owner: string, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    /** Ends the evaluation of a window whose run left no entry: false where it has its verdict already. */
    readonly release: (
      run: RunId,
      verdict: "failed" | "missed",
      reason: string
    ) => Effect.Effect<boolean>
    /** Declares those missed whose lease ran out, and gives their number. */
    readonly abandon: (now: DateTime.Utc) => Effect.Effect<number>
    /** Newest first. */
    readonly list: (
      rule: RuleId,
      query: PageRequest & { readonly verdict?: Verdict | undefined }
    ) => Effect.Effect<Page<DueWindow>, InvalidCursor>
    /** Single windows of the range that were missed or failed, in order, and how many there are in all. */
    readonly missed: (
      rule: RuleId,
      range: { readonly after: DateTime.Utc; readonly through: DateTime.Utc; readonly limit: number }
    ) => Effect.Effect<{ readonly due: ReadonlyArray<DateTime.Utc>; readonly total: number }>
    /** Takes such a window to evaluate it after all: false where it is no longer one. */
    readonly reclaim: (rule: RuleId, due: DateTime.Utc, claim: Claim) => Effect.Effect<boolean>
    readonly running: Effect.Effect<ReadonlyArray<Pick<DueWindow, "rule_id" | "due_at">>>
    readonly beat: (beat: Beat) => Effect.Effect<void>
    /** The latest sign of life of any scheduler. */
    readonly latestBeat: Effect.Effect<Beat | undefined>
    /** Forgets what is older than anybody may ask for: 90 days. */
    readonly forget: (now: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
