import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, FastCheck as fc, Fiber, Layer, Schema, TestClock } from "effect"
import { type AutomationRule, RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import type { DueWindow } from "../../src/schema/DueWindow.ts"
import { UserId } from "../../src/schema/User.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { DetectionFailed, Detections } from "../../src/services/Detections.ts"
import { duesIn } from "../../src/services/DueTimes.ts"
import { DueWindows } from "../../src/services/DueWindows.ts"
import { RuleRunnerLive } from "../../src/services/RuleRunner.ts"
import { schedule, type SchedulerOptions } from "../../src/services/Scheduler.ts"
import { MemoryPorts } from "../support/testApi.ts"

const numRuns = Number(process.env["NETOPS_CHAOS_RUNS"] ?? 8)
const minute = 60_000
const options: SchedulerOptions = {
  node: "test",
  timeout: Duration.minutes(5),
  concurrency: 2,
  jitter: Duration.zero,
  grace: Duration.minutes(60),
  poll: Duration.minutes(30)
}
const poll = 30 * minute
const grace = 60 * minute

const TestLive = Layer.provideMerge(RuleRunnerLive, MemoryPorts)

const by = UserId.make(1)
const draft = (schedule: unknown, enabled: boolean) =>
  Schema.decodeUnknownSync(RuleDraft)({ name: "busy", enabled, schedule, threshold: { min_requests: 1 } })
const ruleId = (index: number) => RuleId.make(`00000000-0000-4000-8000-00000000000${index}`)

const scheduleJson = fc.oneof(
  fc.constant({ type: "manual" }),
  fc.constantFrom("1h", "7h", "45m", "1d").map((every) => ({ type: "interval", every })),
  fc.record({
    type: fc.constant("cron"),
    cron: fc.constantFrom("30 2 * * *", "0 * * * *", "15 */6 * * *", "0 9 * * 1"),
    timezone: fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe")
  })
)

interface Phase {
  readonly since: number
  until: number
  readonly draft: RuleDraft
}

/** Rules are changed, and the scheduler is stopped and started, over a month in which the clocks change. */
const month = fc.record({
  rules: fc.array(scheduleJson, { minLength: 1, maxLength: 3 }),
  steps: fc.array(
    fc.record({
      minutes: fc.integer({ min: 1, max: 2000 }),
      rule: fc.nat(2),
      change: fc.oneof(
        fc.constantFrom("enable" as const, "disable" as const, "stop" as const, "start" as const),
        scheduleJson
      )
    }),
    { minLength: 5, maxLength: 30 }
  )
})

const windowsOf = (rule: RuleId) =>
  Effect.gen(function*() {
    const all: Array<DueWindow> = []
    let cursor: string | undefined
    do {
      const page = yield* (yield* DueWindows).list(rule, { limit: 1000, cursor })
      all.push(...page.items)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return all
  })

describe("scheduler", () => {
  it.effect.prop("gives every due window of an enabled rule one verdict, whatever happens over a month", [month], ([
    { rules: first, steps }
  ]) =>
    Effect.gen(function*() {
      const rules = yield* AutomationRules
      yield* TestClock.setTime(Date.parse("2026-10-05T00:00:30Z"))
      const now = Effect.map(DateTime.now, DateTime.toEpochMillis)
      const phases: Array<Array<Phase>> = []
      const stopped: Array<[number, number]> = []
      const started = yield* now
      const begun = yield* Effect.forEach(first, (json, index) =>
        Effect.gen(function*() {
          phases.push([{ since: started, until: Infinity, draft: draft(json, true) }])
          const at = yield* DateTime.now
          return yield* rules.create({ id: ruleId(index), draft: draft(json, true), by, at })
        }))
      let fiber: Fiber.RuntimeFiber<unknown> | undefined = yield* Effect.fork(schedule(options))

      const change = Effect.fnUntraced(function*(rule: AutomationRule, index: number, next: RuleDraft) {
        const at = yield* now
        const own = phases[index]!
        own.at(-1)!.until = at
        own.push({ since: at, until: Infinity, draft: next })
        yield* rules.update(rule.id, { draft: next, by, at: yield* DateTime.now })
      })
      for (const step of steps) {
        yield* TestClock.adjust(Duration.minutes(step.minutes))
        const index = step.rule % begun.length
        const current = phases[index]!.at(-1)!.draft
        if (step.change === "stop" && fiber !== undefined) {
          yield* Fiber.interrupt(fiber)
          fiber = undefined
          stopped.push([yield* now, Infinity])
        } else if (step.change === "start" && fiber === undefined) {
          stopped.at(-1)![1] = yield* now
          fiber = yield* Effect.fork(schedule(options))
        } else if (step.change === "enable" || step.change === "disable") {
          yield* change(begun[index]!, index, { ...current, enabled: step.change === "enable" })
        } else if (typeof step.change === "object") {
          yield* change(begun[index]!, index, { ...draft(step.change, true), enabled: current.enabled })
        }
      }
      if (fiber === undefined) {
        stopped.at(-1)![1] = yield* now
        fiber = yield* Effect.fork(schedule(options))
      }
      yield* TestClock.adjust(Duration.millis(grace))
      const end = yield* now

      for (const [index, rule] of begun.entries()) {
        const entries = new Map(
          (yield* windowsOf(rule.id)).map((window) => [DateTime.toEpochMillis(window.due_at), window])
        )
        const expected = phases[index]!.flatMap((phase) =>
          phase.draft.enabled
            ? duesIn(phase.draft.schedule, phase.since, Math.min(phase.until, end)).map((due) => ({ due, phase }))
            : []
        )
        assert.deepStrictEqual([...entries.keys()].sort((a, b) => a - b), expected.map(({ due }) => due))
        for (const { due, phase } of expected) {
          const { verdict } = entries.get(due)!
          assert.include(["run", "missed"], verdict)
          const isUp = !stopped.some(([from, to]) => from <= due + poll && to >= due)
          const sameSchedule = phases[index]!.filter(({ since }) => since > phase.since && since <= due + poll)
          if (isUp && sameSchedule.length === 0) assert.strictEqual(verdict, "run", new Date(due).toISOString())
          if (stopped.some(([from, to]) => from < due && to > due + grace)) assert.strictEqual(verdict, "missed")
        }
      }
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(TestLive)), { fastCheck: { numRuns } })

  it.effect("a rule that hangs fails at its time limit and skips meanwhile, one that fails is tried again; others run", () =>
    Effect.gen(function*() {
      const rules = yield* AutomationRules
      yield* TestClock.setTime(Date.parse("2026-10-05T00:00:30Z"))
      const at = yield* DateTime.now
      for (const [index, name] of ["hangs", "fails", "runs"].entries()) {
        const made = { ...draft({ type: "interval", every: "2m" }, true), name, max_detections: index + 1 }
        yield* rules.create({ id: ruleId(index), draft: made, by, at })
      }
      const fiber = yield* Effect.fork(schedule(options))
      yield* TestClock.adjust("11 minutes")
      const verdicts = (index: number) =>
        Effect.map(windowsOf(ruleId(index)), (all) => all.map(({ verdict }) => verdict).reverse())
      assert.deepStrictEqual(yield* verdicts(0), ["failed", "skipped", "skipped", "running", "skipped"])
      assert.deepStrictEqual(yield* verdicts(1), ["failed", "failed", "failed", "failed", "failed"])
      assert.deepStrictEqual(yield* verdicts(2), ["run", "run", "run", "run", "run"])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* verdicts(0), ["failed", "skipped", "skipped", "missed", "skipped"])
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          RuleRunnerLive.pipe(Layer.provide(Layer.succeed(
            Detections,
            Detections.of({
              detect: ({ max_detections }) =>
                max_detections === 1
                  ? Effect.never
                  : max_detections === 2
                  ? Effect.fail(new DetectionFailed({ reason: "failed", message: "no memory" }))
                  : Effect.succeed({ rows: [], total: 0, query: "", params: {}, elapsedMs: 0 }),
              detectOnly: () => Effect.never
            })
          ))),
          MemoryPorts
        )
      )
    ))

  it.effect("two schedulers at once run each window once", () =>
    Effect.gen(function*() {
      const rules = yield* AutomationRules
      yield* TestClock.setTime(Date.parse("2026-10-05T00:00:30Z"))
      yield* rules.create({
        id: ruleId(0),
        draft: draft({ type: "interval", every: "1m" }, true),
        by,
        at: yield* DateTime.now
      })
      const fibers = yield* Effect.all([Effect.fork(schedule(options)), Effect.fork(schedule(options))])
      yield* TestClock.adjust("30 minutes")
      const windows = yield* windowsOf(ruleId(0))
      assert.lengthOf(windows, 30)
      const outcome = windows.map(({ verdict }) => verdict)
      assert.deepStrictEqual([...new Set(outcome)], ["run"])
      yield* Fiber.interruptAll(fibers)
    }).pipe(Effect.provide(TestLive)))
})
