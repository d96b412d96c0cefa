import { Context, Data, DateTime, Duration, Effect, Either, Layer } from "effect"
import { ActionId } from "../schema/Action.ts"
import type { AutomationRule, RulePreview } from "../schema/AutomationRule.ts"
import { type DetectedMac, keyDetections, type Window } from "../schema/Detection.ts"
import { type RuleRun, RunId, type RunRequest, type RunResult, type RunStatus } from "../schema/RuleRun.ts"
import type { UserId } from "../schema/User.ts"
import { Alarms } from "./Alarms.ts"
import type { AuditTrail } from "./AuditTrail.ts"
import type { RuleMissing } from "./AutomationRules.ts"
import { type Detected, type DetectionFailed, Detections } from "./Detections.ts"
import type { DueLost } from "./DueWindows.ts"
import { Ids } from "./Ids.ts"
import { recordAct } from "./recordAct.ts"
import { RuleLedger } from "./RuleLedger.ts"
import { windowOf, type WindowRefused } from "./RuleWindow.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

export class InvalidWindow extends Data.TaggedError("RuleRunner/InvalidWindow")<WindowRefused> {}

/** Who asked for a run, and how. */
export interface RunOrigin {
  readonly trigger: RuleRun["trigger"]
  readonly userId: UserId | null
  readonly requestId: string
  /** The window that it is due for, taken by the run of this id: traffic up to that time is evaluated. */
  readonly due?: { readonly at: DateTime.Utc; readonly run: RunId }
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
    ) => Effect.Effect<RunResult, InvalidWindow | RuleMissing | DueLost | DetectionFailed>
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
    const alarms = yield* Alarms
    const unit = yield* UnitOfWork
    const context = yield* Effect.context<AuditTrail | Ids>()
    const ids = yield* Ids

    const nothing: Pick<Detected, "rows" | "total"> = { rows: [], total: 0 }

    /** What is detected, and of the clients in cooldown what would be: asked where that can make a difference. */
    const evaluate = Effect.fn("RuleRunner.evaluate")(function*(
      rule: AutomationRule,
      window: Window,
      at: DateTime.Utc,
      judged: boolean
    ) {
      const cooling = yield* ledger.inCooldown(rule.id, at)
      const detected = yield* detections.detect(rule, window, cooling)
      const asked = cooling.length > 0 && (judged || detected.total === 0)
      const held = asked ? yield* detections.detectOnly(rule, window, cooling) : nothing
      return { detected, held, skipped: detected.total === 0 && held.total > 0 }
    })

    /** What users order is recorded where they order it. */
    const audit = (rule: AutomationRule, run: RuleRun) =>
      run.trigger !== "schedule" || run.actions_triggered === 0
        ? Effect.void
        : recordAct({
          by: "system:scheduler",
          operation: "automation.scheduledRun",
          target: rule.id,
          requestId: run.request_id,
          reason: run.reason,
          after: {
            run: run.id,
            rule: rule.name,
            due_at: run.due_at,
            status: run.status,
            macs_detected: run.macs_detected,
            actions_triggered: run.actions_triggered
          }
        }).pipe(Effect.provide(context))

    /** Unless some of the detections are cut off: then who is no longer detected can't be told. */
    const watch = (
      rule: AutomationRule,
      window: Window,
      requestId: string,
      seen: ReadonlyArray<Pick<Detected, "rows" | "total">>
    ) =>
      seen.some(({ rows, total }) => total > rows.length) ? Effect.void : alarms.observe({
        rule,
        at: DateTime.unsafeFromDate(window.end),
        matched: seen.flatMap(({ rows }) => rows),
        requestId
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
      const { due } = origin
      const runId = due?.run ?? RunId.make(yield* ids.uuid)
      const window = windowOf(rule, request, due?.at ?? startedAt)
      if (Either.isLeft(window)) return yield* new InvalidWindow(window.left)

      // Looking into the past says nothing about what goes on now.
      const judged = !request.dry_run && origin.trigger !== "backfill" && request.start === undefined &&
        request.end === undefined
      const evaluated = yield* Effect.either(evaluate(rule, window.right, startedAt, judged))
      const finishedAt = yield* DateTime.now
      const detected = Either.isRight(evaluated) ? evaluated.right.detected : undefined
      const elapsed = Math.round(
        detected?.elapsedMs ?? DateTime.toEpochMillis(finishedAt) - DateTime.toEpochMillis(startedAt)
      )
      const entry = (conclusion: Conclusion): RuleRun => ({
        id: runId,
        rule_id: rule.id,
        trigger: origin.trigger,
        due_at: due?.at ?? null,
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
      // Before the clients are taken: whom a crash leaves without an alarm, the next run detects again.
      const { held } = evaluated.right
      if (judged) yield* watch(rule, window.right, origin.requestId, [evaluated.right.detected, held])
      if (evaluated.right.skipped) return yield* conclude("skipped", 0, [])
      if (!acts) return yield* conclude("simulated", total, rows)
      if (total === 0) return yield* conclude("success", 0, [])

      const actionIds = yield* Effect.replicateEffect(
        Effect.map(ids.uuid, (id) => ActionId.make(id)),
        rows.length * rule.actions.length
      )
      let taken: ReadonlyArray<DetectedMac> = []
      const enforce = ledger.enforce({
        rule: rule.id,
        run: runId,
        at: startedAt,
        detections: rows,
        actions: rule.actions,
        cooldownUntil: DateTime.addDuration(startedAt, Duration.minutes(rule.cooldown_minutes)),
        seenAt: DateTime.unsafeFromDate(window.right.end),
        apartMinutes: origin.trigger === "backfill" ? rule.cooldown_minutes : 0,
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
      const enforced = yield* unit.transaction(Effect.tap(enforce, (run) => audit(rule, run)))
      return result(enforced, taken)
    })

    return RuleRunner.of({ preview, run })
  })
)
