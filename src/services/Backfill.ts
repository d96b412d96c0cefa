import { Clock, DateTime, Duration, Effect } from "effect"
import type { AutomationRule } from "../schema/AutomationRule.ts"
import type { BackfillRequest, BackfillResult } from "../schema/DueWindow.ts"
import { RunId } from "../schema/RuleRun.ts"
import { DueWindows } from "./DueWindows.ts"
import { Ids } from "./Ids.ts"
import { RuleRunner, type RunOrigin } from "./RuleRunner.ts"
import { lease } from "./Scheduler.ts"

interface Tally {
  run: number
  skipped: number
  failed: number
  actions_triggered: number
}

/**
 * Evaluates the windows of a range that were missed or failed, oldest first, each once however many do so at a time. A client that the rule
 * acted on within its cooldown before or after a window's time isn't acted on again. Fails where ClickHouse can't be
 * reached: the windows that were not evaluated stay missed.
 */
export const backfill = Effect.fn("Backfill")(function*(
  rule: AutomationRule,
  { end, limit, mode, start }: BackfillRequest,
  origin: Omit<RunOrigin, "trigger" | "due">
) {
  const windows = yield* DueWindows
  const runner = yield* RuleRunner
  const ids = yield* Ids
  const owner = yield* ids.uuid
  const range = { after: DateTime.unsafeMake(start), through: DateTime.unsafeMake(end) }
  const tally: Tally = { run: 0, skipped: 0, failed: 0, actions_triggered: 0 }

  /** The window went to somebody else while it was evaluated, who gives it its verdict. */
  const lost = { Status: undefined, ActionsTriggered: 0 }

  const evaluate = Effect.fnUntraced(function*(due: DateTime.Utc) {
    const run = RunId.make(yield* ids.uuid)
    const now = DateTime.unsafeMake(yield* Clock.currentTimeMillis)
    // Longer than any evaluation may take.
    const leaseUntil = DateTime.addDuration(now, Duration.times(lease, 8))
    if (!(yield* windows.reclaim(rule.id, due, { run, owner, leaseUntil }))) return
    const request = { dry_run: mode === "simulate", reason: "backfill" }
    const result = yield* runner.run(rule, request, { ...origin, trigger: "backfill", due: { at: due, run } }).pipe(
      Effect.onExit((exit) => exit._tag === "Failure" ? windows.release(run, "missed", "") : Effect.void),
      Effect.catchTags({
        "DueWindows/DueLost": () => Effect.succeed(lost),
        // Its window comes from the schedule.
        "RuleRunner/InvalidWindow": Effect.die
      })
    )
    tally.actions_triggered += result.ActionsTriggered
    if (result.Status === undefined) return
    if (result.Status === "failed" || result.Status === "skipped") tally[result.Status]++
    else tally.run++
  })

  const { due } = yield* windows.missed(rule.id, { ...range, limit })
  yield* Effect.forEach(due, evaluate, { discard: true })
  const { total } = yield* windows.missed(rule.id, { ...range, limit: 0 })
  const result: BackfillResult = { rule_id: rule.id, ...tally, remaining: total }
  return result
})
