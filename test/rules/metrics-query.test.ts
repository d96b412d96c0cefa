import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import {
  aggregates,
  metricProtocols,
  type MetricsParams,
  metricTime,
  stepMillis
} from "../../src/schema/MetricsQuery.ts"
import { promDuration, promMillis } from "../../src/schema/PromDuration.ts"
import { cutRange } from "../../src/services/MetricsPlan.ts"
import { type MetricRules, metricsLimits, queryKey, resolveQuery } from "../../src/services/MetricsQueryRules.ts"
import { ratioOf } from "../../src/services/TrafficRatio.ts"

const now = Date.parse("2026-11-21T12:34:56.789Z")
const day = 86_400_000

const rules: MetricRules = {
  aggregates: ["uniq", "sum"],
  finestStep: (start) => start < now - 30 * day ? 3600 : 1,
  ignored: ["exclude_blocked"],
  why: "of what it is"
}

const time = fc.oneof(
  fc.date({ min: new Date("1999-01-01"), max: new Date("2100-01-01"), noInvalidDate: true }).map((d) =>
    d.toISOString()
  ),
  fc.nat(4e9).map(String),
  fc.maxSafeNat().map((n) => String(n % 4e12)),
  fc.tuple(fc.nat(5000), fc.constantFrom("s", "m", "h", "d", "w")).map(([n, unit]) => `now-${n}${unit}`),
  fc.constant("now")
)
const params: fc.Arbitrary<MetricsParams> = fc.record({
  start: time,
  end: time,
  step: fc.oneof(fc.nat(1e6).map(String), fc.constantFrom("", "5m", "1h30m", "90s", "1w", "0", "0s", "0.4")),
  limit: fc.integer(),
  aggregate: fc.constantFrom(...aggregates),
  exclude_blocked: fc.constantFrom("true" as const, "false" as const),
  protocol: fc.constantFrom(...metricProtocols)
}, { requiredKeys: [] })

const points = (start: number, end: number, step_s: number) =>
  Math.floor((end - 1) / step_s / 1000) - Math.floor(start / step_s / 1000) + 1

describe("a metrics query", () => {
  it("is answered within its bounds, whatever is asked, and says what was moved", () => {
    fc.assert(
      fc.property(params, (asked) => {
        const resolved = resolveQuery(asked, rules, now)
        if (Either.isLeft(resolved)) return assert.strictEqual(resolved.left.pointer, "/start")
        const { query, warnings } = resolved.right
        const { end_ms, start_ms, step_s } = query
        assert.isTrue(start_ms >= 0 && start_ms < end_ms && end_ms <= now + day)
        assert.isAtMost(end_ms - start_ms, metricsLimits.rangeDays * day)
        assert.isTrue(Number.isInteger(step_s) && step_s >= rules.finestStep(start_ms, now))
        assert.isAtMost(points(start_ms, end_ms, step_s), metricsLimits.points)
        if (start_ms < now - 30 * day) assert.strictEqual(step_s % 3600, 0)
        assert.isTrue(query.limit >= 1 && query.limit <= metricsLimits.points)
        if (asked.step === undefined || asked.step === "") {
          assert.isAtMost(points(start_ms, end_ms, step_s), metricsLimits.automaticPoints)
          assert.isFalse(warnings.some((warning) => warning.startsWith("step")))
        }
        const told = (name: string) => warnings.some((warning) => warning.startsWith(`${name}: `))
        const at = (text: string) => {
          const parsed = metricTime(text)!
          return parsed._tag === "At" ? parsed.ms : now - parsed.ms
        }
        assert.strictEqual(told("end"), asked.end !== undefined && at(asked.end) !== end_ms)
        assert.strictEqual(told("start"), asked.start !== undefined && at(asked.start) !== start_ms)
        if (asked.step !== undefined && asked.step !== "") {
          assert.strictEqual(told("step"), stepMillis(asked.step) !== step_s * 1000)
        }
        assert.strictEqual(told("limit"), asked.limit !== undefined && asked.limit !== query.limit)
        assert.strictEqual(told("aggregate"), asked.aggregate !== undefined && asked.aggregate !== query.aggregate)
        assert.strictEqual(told("exclude_blocked"), asked.exclude_blocked === "true")
      }),
      { numRuns: 2000 }
    )
  })

  it("asks for nothing: the last 24 hours in steps of two minutes", () => {
    const { query, warnings } = Either.getOrThrow(resolveQuery({}, rules, now))
    assert.deepStrictEqual(query, {
      start_ms: now - day,
      end_ms: now,
      step_s: 120,
      limit: 1000,
      aggregate: "uniq",
      exclude_blocked: false,
      protocol: "all"
    })
    assert.deepStrictEqual(warnings, [])
  })

  it("reads times and steps as they are written elsewhere", () => {
    const at = Date.parse("2026-01-31T08:00:00Z")
    for (const text of ["2026-01-31T08:00:00Z", "2026-01-31T09:00:00+01:00", String(at / 1000), String(at)]) {
      assert.deepStrictEqual(metricTime(text), { _tag: "At", ms: at })
    }
    assert.deepStrictEqual(metricTime("now-6h"), { _tag: "Ago", ms: 6 * 3_600_000 })
    assert.deepStrictEqual(metricTime("now"), { _tag: "Ago", ms: 0 })
    for (const text of ["", "yesterday", "now+6h", "now-", "now-6", "2026-01-31", "-5", "1e9", "NaN", "6h"]) {
      assert.isUndefined(metricTime(text), text)
    }
    assert.strictEqual(stepMillis("300"), 300_000)
    assert.strictEqual(stepMillis("1h30m"), 5_400_000)
    for (const text of ["m", "5x", "-5m", "30m1h", "5 m", "1e3"]) assert.isUndefined(stepMillis(text), text)
  })

  it("has one key for what is the same, and another for what isn't", () => {
    const key = (asked: MetricsParams) => queryKey("m", asked, "")
    assert.strictEqual(key({}), key({ end: "now", limit: 1000, exclude_blocked: "false", protocol: "all", step: "" }))
    assert.strictEqual(key({ step: "300" }), key({ step: "5m" }))
    assert.strictEqual(key({ start: "1769846400" }), key({ start: "2026-01-31T08:00:00Z" }))
    const different = [
      {},
      { start: "now-1h" },
      { end: "now-1h" },
      { step: "5m" },
      { limit: 5 },
      { aggregate: "sum" as const },
      { exclude_blocked: "true" as const },
      { protocol: "dhcpv4" as const }
    ]
    assert.strictEqual(new Set([...different.map(key), queryKey("n", {}, ""), queryKey("m", {}, "{}")]).size, 10)
  })
})

describe("a duration", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e13 }), (ms) => assert.strictEqual(promMillis(promDuration(ms)), ms))
    )
  })
})

describe("a range cut into buckets", () => {
  it("is covered once, by whole buckets and what is left at its edges", () => {
    fc.assert(
      fc.property(
        fc.nat(1e9),
        fc.integer({ min: 1, max: 1e8 }),
        fc.integer({ min: 1, max: 1e6 }),
        (from_ms, length, bucket) => {
          const cut = cutRange({ from_ms, to_ms: from_ms + length }, bucket)
          if (cut === undefined) return assert.isBelow(length, 2 * bucket)
          const { edges, inner } = cut
          assert.strictEqual(inner.from_ms % bucket + inner.to_ms % bucket, 0)
          const spans = [...edges, inner].sort((a, b) => a.from_ms - b.from_ms)
          assert.strictEqual(spans[0]!.from_ms, from_ms)
          assert.strictEqual(spans.at(-1)!.to_ms, from_ms + length)
          for (const [index, span] of spans.entries()) {
            assert.isBelow(span.from_ms, span.to_ms)
            if (index > 0) {
              assert.strictEqual(span.from_ms, spans[index - 1]!.to_ms)
            }
          }
          assert.isTrue(edges.every((edge) => edge.to_ms - edge.from_ms < bucket))
        }
      )
    )
  })
})

describe("the ratio of traffic", () => {
  const step = fc.record({
    time_ms: fc.nat(),
    inbound_bytes: fc.nat(),
    outbound_bytes: fc.oneof(fc.constant(0), fc.nat())
  })
  it("over the range lies between those of its steps, and is null where nothing went out", () => {
    fc.assert(fc.property(fc.array(step), (steps) => {
      const { max, min, points, value } = ratioOf(steps, "sum")
      if (steps.every(({ outbound_bytes }) => outbound_bytes === 0)) {
        return assert.deepStrictEqual([value, min, max, points], [null, 0, 0, 0])
      }
      assert.isAtLeast(value! * (1 + 1e-9), min)
      if (steps.every(({ outbound_bytes }) => outbound_bytes > 0)) assert.isAtMost(value!, max * (1 + 1e-9))
    }))
  })
})
