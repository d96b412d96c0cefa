import { Context, Data, DateTime, Duration, Effect, Either, Layer } from "effect"
import { ActionId } from "../schema/Action.ts"
import type { AutomationRule, RulePreview } from "../schema/AutomationRule.ts"
import { type DetectedMac, keyDetections, type Window } from "../schema/Detection.ts"
import { type RuleRun, RunId, type RunRequest, type RunResult, type RunStatus } from "../schema/RuleRun.ts"
import type { UserId } from "../schema/User.ts"
import type { RuleMissing } from "./AutomationRules.ts"
import { type Detected, type DetectionFailed, Detections } from "./Detections.ts"
import { Ids } from "./Ids.ts"
import { RuleLedger } from "./RuleLedger.ts"
import { windowOf, type WindowRefused } from "./RuleWindow.ts"

export class InvalidWindow extends Data.TaggedError("RuleRunner/InvalidWindow")<WindowRefused> {}

/** Who asked for a run, and how. */
export interface RunOrigin {
  readonly trigger: RuleRun["trigger"]
  readonly userId: UserId | null
  readonly requestId: string
}

/**
 * Evaluates rules. For any rule and data a preview, a dry run and an enforcing run that start from the same cooldowns
 * detect the same clients.
 */
export class RuleRunner extends Context.Tag("services/RuleRunner")<
  RuleRunner,
  {
    readonly preview: (proposal: RulePreview) => Effect.Effect<Detected, DetectionFailed>
    /** Fails only where the store could not be reached; any other failure is a result whose status is `failed`. */
    readonly run: (
      rule: AutomationRule,
      request: RunRequest,
      origin: RunOrigin
    ) => Effect.Effect<RunResult, InvalidWindow | RuleMissing | DetectionFailed>
  }
>() {}

interface Conclusion {
  readonly status: RunStatus
  readonly detected: number
  readonly triggered: number
  readonly error: string
}

const overLimit = (rule: AutomationRule, total: number): string =>
  `${total} clients detected, more than max_detections ${rule.max_detections}: acted on none`

export const RuleRunnerLive = Layer.effect(
  RuleRunner,
  Effect.gen(function*() {
    const detections = yield* Detections
    const ledger = yield* RuleLedger
    const ids = yield* Ids

    /** Nothing detected although clients are in cooldown: whether any of those would have been. */
    const heldBack = (rule: AutomationRule, window: Window, detected: Detected, cooling: ReadonlyArray<string>) =>
      detected.total > 0 || cooling.length === 0
        ? Effect.succeed(false)
        : Effect.map(detections.detectOnly(rule, window, cooling), ({ total }) => total > 0)

    const evaluate = Effect.fn("RuleRunner.evaluate")(function*(
      rule: AutomationRule,
      window: Window,
      at: DateTime.Utc
    ) {
      const cooling = yield* ledger.inCooldown(rule.id, at)
      const detected = yield* detections.detect(rule, window, cooling)
      return { detected, skipped: yield* heldBack(rule, window, detected, cooling) }
    })

    const preview = Effect.fn("RuleRunner.preview")(function*(proposal: RulePreview) {
      const now = yield* DateTime.now
      const end = DateTime.toDate(now)
      const start = new Date(end.getTime() - proposal.lookback_minutes * 60_000)
      const cooling = proposal.rule_id === undefined ? [] : yield* ledger.inCooldown(proposal.rule_id, now)
      return yield* detections.detect(proposal, { start, end }, cooling)
    })

    const run = Effect.fn("RuleRunner.run")(function*(rule: AutomationRule, request: RunRequest, origin: RunOrigin) {
      const startedAt = yield* DateTime.now
      const runId = RunId.make(yield* ids.uuid)
      const window = windowOf(rule, request, startedAt)
      if (Either.isLeft(window)) return yield* new InvalidWindow(window.left)

      const evaluated = yield* Effect.either(evaluate(rule, window.right, startedAt))
      const finishedAt = yield* DateTime.now
      const detected = Either.isRight(evaluated) ? evaluated.right.detected : undefined
      const elapsed = Math.round(
        detected?.elapsedMs ?? DateTime.toEpochMillis(finishedAt) - DateTime.toEpochMillis(startedAt)
      )
      const entry = (conclusion: Conclusion): RuleRun => ({
        id: runId,
        rule_id: rule.id,
        trigger: origin.trigger,
        mode: rule.mode,
        dry_run: request.dry_run,
        status: conclusion.status,
        window_start: DateTime.unsafeFromDate(window.right.start),
        window_end: DateTime.unsafeFromDate(window.right.end),
        macs_detected: conclusion.detected,
        actions_triggered: conclusion.triggered,
        query: detected?.query ?? "",
        query_params: detected?.params ?? {},
        execution_time_ms: elapsed,
        error: conclusion.error,
        reason: request.reason ?? "",
        user_id: origin.userId,
        request_id: origin.requestId,
        started_at: startedAt,
        finished_at: finishedAt
      })
      const result = (run: RuleRun, rows: ReadonlyArray<DetectedMac>): RunResult => ({
        RuleID: rule.id,
        RuleName: rule.name,
        MacsDetected: run.macs_detected,
        ActionsTriggered: run.actions_triggered,
        DetectedMacs: keyDetections(rows),
        ExecutionTimeMs: run.execution_time_ms,
        Status: run.status,
        ErrorMessage: run.error
      })
      const conclude = Effect.fnUntraced(function*(
        status: RunStatus,
        total: number,
        rows: ReadonlyArray<DetectedMac>,
        error = ""
      ) {
        const run = entry({ status, detected: total, triggered: 0, error })
        yield* ledger.record(run)
        return result(run, rows)
      })

      if (Either.isLeft(evaluated)) {
        const failed = yield* conclude("failed", 0, [], evaluated.left.message)
        return evaluated.left.reason === "unreachable" ? yield* evaluated.left : failed
      }
      const { rows, total } = evaluated.right.detected
      const acts = rule.mode === "enforce" && !request.dry_run
      if (total > rule.max_detections) return yield* conclude("warning", total, rows, overLimit(rule, total))
      if (evaluated.right.skipped) return yield* conclude("skipped", 0, [])
      if (!acts) return yield* conclude("simulated", total, rows)
      if (total === 0) return yield* conclude("success", 0, [])

      const actionIds = yield* Effect.replicateEffect(
        Effect.map(ids.uuid, (id) => ActionId.make(id)),
        rows.length * rule.actions.length
      )
      let taken: ReadonlyArray<DetectedMac> = []
      const enforced = yield* ledger.enforce({
        rule: rule.id,
        run: runId,
        at: startedAt,
        detections: rows,
        actions: rule.actions,
        cooldownUntil: DateTime.addDuration(startedAt, Duration.minutes(rule.cooldown_minutes)),
        reason: request.reason ?? `rule ${rule.name}`,
        ids: actionIds
      }, (outcome) => {
        taken = outcome.detections
        return entry({
          status: taken.length === 0 ? "skipped" : outcome.actionsRefused > 0 ? "warning" : "success",
          detected: taken.length,
          triggered: outcome.actionsTriggered,
          error: outcome.actionsRefused === 0
            ? ""
            : `${outcome.actionsRefused} actions left out: protected clients, or blocks above the hour's cap`
        })
      })
      return result(enforced, taken)
    })

    return RuleRunner.of({ preview, run })
  })
)
