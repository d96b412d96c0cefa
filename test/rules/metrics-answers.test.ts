import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, FastCheck as fc, Fiber, Layer, TestClock } from "effect"
import type { MetricsParams } from "../../src/schema/MetricsQuery.ts"
import type { UserId } from "../../src/schema/User.ts"
import { Actions } from "../../src/services/Actions.ts"
import { type MetricRequest, Metrics, type UniqueIps } from "../../src/services/Metrics.ts"
import { MetricsAnswers, MetricsAnswersLive, metricsQueriesPerUser } from "../../src/services/MetricsAnswers.ts"

const user = (id: number) => id as UserId

const day = 86_400_000

/** An engine that takes 250 ms for each answer, gives what it is told to, and keeps what it was asked and why it ended. */
const makeEngine = (answer: UniqueIps) => {
  const later = Layer.effectDiscard(TestClock.setTime(100 * day))
  const asked: Array<MetricRequest<unknown>> = []
  const ended: Array<"answered" | "interrupted"> = []
  const slow = <A>(request: MetricRequest<unknown>, value: A) =>
    Effect.sync(() => void asked.push(request)).pipe(
      Effect.zipRight(Effect.sleep("250 millis")),
      Effect.as(value),
      Effect.onExit((exit) => Effect.sync(() => void ended.push(Exit.isInterrupted(exit) ? "interrupted" : "answered")))
    )
  const layer = MetricsAnswersLive.pipe(
    Layer.merge(later),
    Layer.provide(Layer.succeed(
      Metrics,
      Metrics.of({
        uniqueIps: (request) => slow(request, answer),
        alarmStats: (request) => slow(request, { firing: 1, acknowledged: 0, resolved: 0, total: 1 }),
        traffic: (request) => slow(request, []),
        eventsKeptDays: Effect.succeed(30)
      })
    )),
    Layer.provide(Layer.mock(Actions, { blockedClients: Effect.succeed([]) }))
  )
  return { asked, ended, layer }
}

const none: UniqueIps = { rollup: "none", series: [] }

const ask = (params: MetricsParams, userId = user(1)) =>
  Effect.flatMap(MetricsAnswers, (answers) => answers.uniqueIps({ params, filter: undefined, userId }))

const series = fc.uniqueArray(
  fc.record({
    protocol: fc.constantFrom("dhcpv4" as const, "dhcpv6" as const),
    points: fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 40 })
  }),
  { maxLength: 2, selector: ({ protocol }) => protocol }
)

describe("the metadata of a metric", () => {
  it.effect.prop(
    "counts the series and points that are in the answer, and names the rollup that was read",
    [series, fc.constantFrom("none", "dhcp_unique_ips_1m", "dhcp_unique_ips_1h"), fc.integer({ min: 1, max: 30 })],
    ([series, rollup, limit]) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.fork(ask({ limit }))
        yield* TestClock.adjust("250 millis")
        const { data, metadata } = yield* Fiber.join(fiber)
        assert.strictEqual(metadata.series_count, data.series.length)
        assert.strictEqual(metadata.data_points, data.series.flatMap(({ points }) => points).length)
        assert.strictEqual(metadata.materialized_view_used, rollup)
        assert.deepStrictEqual(
          data.series.map(({ points }) => points),
          series.map(({ points }) => points.slice(-limit))
        )
      }).pipe(Effect.provide(makeEngine({ rollup, series }).layer)),
    { fastCheck: { numRuns: 25 } }
  )

  it.effect("tells the time of this answer: all of it for who asked first, the rest for who joined, none for a hit", () =>
    Effect.gen(function*() {
      const first = yield* Effect.fork(ask({}))
      yield* TestClock.adjust("100 millis")
      const second = yield* Effect.fork(ask({}))
      yield* TestClock.adjust("150 millis")
      const third = yield* ask({})
      const told = [yield* Fiber.join(first), yield* Fiber.join(second), third].map(({ metadata }) => [
        metadata.execution_time_ms,
        metadata.cache_hit
      ])
      assert.deepStrictEqual(told, [[250, false], [150, false], [0, true]])
    }).pipe(Effect.provide(makeEngine(none).layer)))

  it.effect.prop(
    "says a hit exactly where the engine was not asked, for at most a step and a minute",
    [
      fc.array(
        fc.record({
          step: fc.constantFrom("10s", "10", "30s", "5m"),
          protocol: fc.constantFrom("all" as const, "dhcpv4" as const),
          pause_s: fc.constantFrom(0, 1, 9, 10, 29, 59, 60)
        }),
        { maxLength: 12 }
      )
    ],
    ([script]) => {
      const engine = makeEngine(none)
      return Effect.gen(function*() {
        const answeredAt = new Map<string, number>()
        for (const { pause_s, protocol, step } of script) {
          yield* TestClock.adjust(pause_s * 1000)
          const before = engine.asked.length
          const fiber = yield* Effect.fork(ask({ step, protocol }))
          yield* TestClock.adjust("250 millis")
          const { metadata } = yield* Fiber.join(fiber)
          const step_ms = step === "5m" ? 300_000 : Number.parseInt(step) * 1000
          const key = `${step_ms} ${protocol}`
          const now = (yield* Clock.currentTimeMillis) - 250
          const fresh = now < (answeredAt.get(key) ?? -Infinity) + Math.min(step_ms, 60_000)
          assert.strictEqual(metadata.cache_hit, fresh)
          assert.strictEqual(engine.asked.length - before, fresh ? 0 : 1)
          if (!fresh) answeredAt.set(key, now + 250)
        }
      }).pipe(Effect.provide(engine.layer))
    },
    { fastCheck: { numRuns: 25 } }
  )
})

describe("equal queries at one time", () => {
  it.effect("reach the engine once, whoever asks and however they write it", () => {
    const engine = makeEngine(none)
    return Effect.gen(function*() {
      const written: ReadonlyArray<MetricsParams> = [
        { step: "5m" },
        { step: "300" },
        { step: "300s", limit: 1000 },
        { step: "5m", end: "now", exclude_blocked: "false", protocol: "all" }
      ]
      const fibers = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) => Effect.fork(ask(written[index % written.length]!, user(index % 40)))
      )
      yield* TestClock.adjust("250 millis")
      for (const fiber of fibers) assert.isFalse((yield* Fiber.join(fiber)).metadata.cache_hit)
      assert.strictEqual(engine.asked.length, 1)
    }).pipe(Effect.provide(engine.layer))
  })

  it.effect("end in the engine when the last who waits is gone, and not before", () => {
    const engine = makeEngine(none)
    return Effect.gen(function*() {
      const fibers = yield* Effect.forEach([1, 2, 3], (id) => Effect.fork(ask({}, user(id))))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(fibers[0]!)
      yield* Fiber.interrupt(fibers[1]!)
      assert.deepStrictEqual(engine.ended, [])
      yield* Fiber.interrupt(fibers[2]!)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(engine.ended, ["interrupted"])
    }).pipe(Effect.provide(engine.layer))
  })

  it.effect("of one user are at most so many, and a place is free again however a query ended", () => {
    const engine = makeEngine(none)
    return Effect.gen(function*() {
      const distinct = (count: number, from = 0) =>
        Effect.forEach(
          Array.from({ length: count }, (_, index) => from + index + 1),
          (limit) => Effect.fork(Effect.either(ask({ limit })))
        )
      const running = yield* distinct(metricsQueriesPerUser)
      yield* TestClock.adjust("1 millis")
      const refused = yield* Effect.flip(ask({ limit: 500 }))
      assert.deepStrictEqual([refused._tag, engine.asked.length], ["Metrics/TooManyQueries", metricsQueriesPerUser])
      const other = yield* Effect.fork(ask({ limit: 500 }, user(2)))
      for (const fiber of running) yield* Fiber.interrupt(fiber)
      const again = yield* distinct(metricsQueriesPerUser, 100)
      yield* TestClock.adjust("300 millis")
      for (const fiber of again) assert.strictEqual((yield* Fiber.join(fiber))._tag, "Right")
      assert.strictEqual((yield* Fiber.join(other)).status, "success")
    }).pipe(Effect.provide(engine.layer))
  })
})
