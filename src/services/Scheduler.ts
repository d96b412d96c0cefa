import { Cause, Clock, Data, DateTime, Duration, Effect, FiberSet, Option, Random } from "effect"
import type { RuleId } from "../schema/AutomationRule.ts"
import { RunId } from "../schema/RuleRun.ts"
import { AutomationRules } from "./AutomationRules.ts"
import { DetectionFailed } from "./Detections.ts"
import { latestDues, nextDue } from "./DueTimes.ts"
import { DueWindows, type Span } from "./DueWindows.ts"
import { Ids } from "./Ids.ts"
import { RuleRunner } from "./RuleRunner.ts"

/** How the schedules are worked off. */
export interface SchedulerOptions {
  /** Name of this node, for people. */
  readonly node: string
  /** Longest time of one run, after which it is given up as failed. */
  readonly timeout: Duration.Duration
  /** Runs at a time. */
  readonly concurrency: number
  /** Runs begin up to this much later than due, each by chance, so that rules due together don't run together. */
  readonly jitter: Duration.Duration
  /** A window found this late, as after a takeover, is still run; older ones are missed. */
  readonly grace: Duration.Duration
  /** How often the spans are read: how soon changes of rules show. */
  readonly poll: Duration.Duration
}

/** Most windows of one absence that are recorded each by itself. */
export const missedEachMax = 10_000

/** A run whose scheduler gives no sign of life for so long is believed dead. */
export const lease = Duration.seconds(15)
const renewEvery = Duration.seconds(3)
const forgetEvery = Duration.hours(1)

const at = (millis: number) => DateTime.unsafeMake(millis)

/** A run was given up: `message` says after how long. */
class RunTimedOut extends Data.TaggedError("Scheduler/RunTimedOut")<{ readonly message: string }> {}

/** What users may read of a failure; whatever isn't said for them stays in the log. */
const messageOf = (cause: Cause.Cause<RunTimedOut | DetectionFailed | { readonly _tag: string }>): string => {
  const error = Cause.failureOption(cause)
  return Option.isSome(error) && (error.value instanceof RunTimedOut || error.value instanceof DetectionFailed)
    ? error.value.message
    : "the run failed; the log says why"
}

/**
 * Runs the rules when they are due, until interrupted: each due window of an enabled rule comes to one verdict, whoever
 * else is at work. A rule that hangs or fails doesn't hold up the others.
 */
export const schedule = Effect.fn("Scheduler")(function*(options: SchedulerOptions) {
  const windows = yield* DueWindows
  const rules = yield* AutomationRules
  const runner = yield* RuleRunner
  const ids = yield* Ids
  const owner = yield* ids.uuid
  const permits = yield* Effect.makeSemaphore(options.concurrency)
  const fibers = yield* FiberSet.make()
  const atWork = new Set<RuleId>()
  const grace = Duration.toMillis(options.grace)
  let lag = 0

  const execute = Effect.fnUntraced(function*(span: Span, due: DateTime.Utc, run: RunId) {
    const delay = yield* Random.nextRange(0, Duration.toMillis(options.jitter))
    if (delay > 0) yield* Effect.sleep(Duration.millis(delay))
    const rule = yield* rules.get(span.rule)
    lag = Math.max(0, (yield* Clock.currentTimeMillis) - DateTime.toEpochMillis(due))
    yield* runner.run(rule, { dry_run: false }, {
      trigger: "schedule",
      userId: null,
      requestId: run,
      due: { at: due, run }
    }).pipe(
      // What doesn't let itself be interrupted is left behind: it finds its window settled.
      Effect.disconnect,
      Effect.timeoutFail({
        duration: options.timeout,
        onTimeout: () => new RunTimedOut({ message: `took longer than ${Duration.toSeconds(options.timeout)} s` })
      })
    )
  })

  const begin = (span: Span, due: DateTime.Utc, run: RunId) =>
    permits.withPermits(1)(execute(span, due, run)).pipe(
      Effect.onInterrupt(() => windows.release(run, "missed", "the scheduler stopped")),
      Effect.catchAllCause((cause) =>
        Effect.zipRight(
          Effect.logWarning(`rule ${span.rule} failed`, cause),
          windows.release(run, "failed", messageOf(cause))
        )
      ),
      Effect.ensuring(Effect.sync(() => atWork.delete(span.rule))),
      Effect.annotateLogs({ rule: span.rule, run })
    )

  const take = Effect.fnUntraced(function*(span: Span, dueMillis: number, now: number) {
    const due = at(dueMillis)
    if (atWork.has(span.rule)) {
      const reason = "the run before was still going"
      return yield* windows.pass(span, {
        verdict: "skipped",
        reason,
        windows: [{ due_at: due, through: null }],
        settled: due
      })
    }
    const run = RunId.make(yield* ids.uuid)
    const leaseUntil = DateTime.addDuration(at(now), lease)
    if (!(yield* windows.claim(span, due, { run, owner, leaseUntil }))) return
    atWork.add(span.rule)
    yield* FiberSet.run(fibers, begin(span, due, run))
  })

  const found = new Map<number, { readonly after: number; readonly due: number | undefined }>()
  /** The first due time that has no verdict; looking for it is dear, and it is asked for at every tick. */
  const firstDue = (span: Span): number | undefined => {
    const after = DateTime.toEpochMillis(span.settled)
    const known = found.get(span.id)
    if (known?.after === after) return known.due
    const due = nextDue(span.schedule, after)
    found.set(span.id, { after, due })
    return due
  }

  /** Gives the next due time of the span that is still to come. */
  const workOff = Effect.fnUntraced(function*(span: Span, now: number) {
    const until = span.until === null ? undefined : DateTime.toEpochMillis(span.until)
    const horizon = Math.min(until ?? now, now)
    const settled = DateTime.toEpochMillis(span.settled)
    const first = firstDue(span)
    if (first === undefined || first > horizon) {
      if (until !== undefined && until <= now) yield* settle(span, [], undefined, until)
      return until === undefined ? first : undefined
    }
    const dues = latestDues(span.schedule, settled, horizon, missedEachMax)
    const latest = dues.each.at(-1)!
    const runs = until === undefined && latest >= now - grace
    const missed = runs ? dues.each.slice(0, -1) : dues.each
    if (missed.length > 0 || dues.earlier !== undefined || until !== undefined) {
      yield* settle(span, missed, dues.earlier, until ?? missed.at(-1) ?? dues.earlier!.through)
    }
    if (runs) yield* take(span, latest, now)
    return until === undefined ? nextDue(span.schedule, now) : undefined
  })

  const settle = (
    span: Span,
    missed: ReadonlyArray<number>,
    earlier: { readonly first: number; readonly through: number } | undefined,
    through: number
  ) =>
    windows.pass(span, {
      verdict: "missed",
      reason: "",
      windows: [
        ...(earlier === undefined ? [] : [{ due_at: at(earlier.first), through: at(earlier.through) }]),
        ...missed.map((due) => ({ due_at: at(due), through: null }))
      ],
      settled: at(through)
    })

  const isolated = <A>(effect: Effect.Effect<A>, what: string) =>
    Effect.catchAllCause(effect, (cause) => Effect.as(Effect.logError(`scheduler: ${what}`, cause), undefined))

  let nextRenewal = 0
  let nextForgetting = 0
  /** Gives how long until the next one is needed. */
  const tick = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    if (now >= nextRenewal) {
      nextRenewal = now + Duration.toMillis(renewEvery)
      if (atWork.size > 0) yield* windows.renew(owner, DateTime.addDuration(at(now), lease))
    }
    yield* windows.abandon(at(now))
    const spans = yield* windows.spans
    if (found.size > 2 * spans.length + 100) found.clear()
    let next = now + Duration.toMillis(options.poll)
    for (const span of spans) next = Math.min(next, (yield* isolated(workOff(span, now), `rule ${span.rule}`)) ?? next)
    yield* windows.beat({ node: options.node, at: at(now), lagMillis: lag })
    if (now >= nextForgetting) {
      nextForgetting = now + Duration.toMillis(forgetEvery)
      yield* windows.forget(at(now))
    }
    const after = yield* Clock.currentTimeMillis
    return Math.max(0, next - after)
  })

  return yield* tick.pipe(
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logError("scheduler: a tick failed", cause), Duration.toMillis(options.poll))
    ),
    Effect.flatMap((millis) => Effect.sleep(Duration.millis(millis))),
    Effect.forever
  )
}, Effect.scoped)
