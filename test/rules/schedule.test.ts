import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either, FastCheck as fc, Schema } from "effect"
import { lookbackMinutesMax, RuleDraft, warningsOf } from "../../src/schema/AutomationRule.ts"
import { Every, millisOf, RuleSchedule, TimeZoneName } from "../../src/schema/Schedule.ts"
import { windowOf } from "../../src/services/RuleWindow.ts"

const seconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const
const unit = fc.constantFrom("s" as const, "m" as const, "h" as const, "d" as const)
const accepts = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Either.isRight(Schema.decodeUnknownEither(schema)(value))

describe("intervals", () => {
  it.prop("are taken from five seconds to seven days", {
    count: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 999_999 })),
    unit
  }, ({
    count,
    unit
  }) => {
    const length = count * seconds[unit]
    assert.strictEqual(millisOf(`${count}${unit}`), length * 1000)
    assert.strictEqual(accepts(Every, `${count}${unit}`), length >= 5 && length <= 604_800)
  })

  it("in other forms are refused", () => {
    for (const text of ["", "5", "m", "0m", "05m", "-5m", "5.5m", "5 m", "5M", "1w", "1e3s", "5m\n"]) {
      assert.isUndefined(millisOf(text), text)
      assert.isFalse(accepts(Every, text), text)
    }
  })
})

describe("cron schedules", () => {
  const cron = (text: unknown, timezone?: unknown) => accepts(RuleSchedule, { type: "cron", cron: text, timezone })

  it("are taken where they fire", () => {
    for (
      const text of ["* * * * *", "*/5 * * * *", "0 0 29 2 *", "30 0 3 * * 1", "0 0 31 1-12 *", "0 12 * * MON-FRI"]
    ) {
      assert.isTrue(cron(text), text)
    }
  })

  it("are refused where they never fire or aren't cron", () => {
    for (
      const text of [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "",
        "* * * *",
        "60 * * * *",
        "* * * * * * *",
        "@daily",
        "x".repeat(200),
        5
      ]
    ) {
      assert.isFalse(cron(text), String(text))
    }
  })

  it("take the zones of IANA", () => {
    for (const zone of ["UTC", "Europe/Berlin", "America/St_Johns", "Etc/GMT+5"]) {
      assert.isTrue(accepts(TimeZoneName, zone), zone)
    }
    for (const zone of ["", "Mars/Olympus", "+01:00", "Europe/Berlin ", "../etc/passwd", "a".repeat(70)]) {
      assert.isFalse(accepts(TimeZoneName, zone), zone)
    }
    assert.deepStrictEqual(Schema.decodeUnknownSync(RuleSchedule)({ type: "cron", cron: "* * * * *" }), {
      type: "cron",
      cron: "* * * * *",
      timezone: "UTC"
    })
  })
})

describe("warnings of a rule", () => {
  const warnings = (draft: object) =>
    warningsOf(Schema.decodeUnknownSync(RuleDraft)({ name: "r", threshold: { min_requests: 1 }, ...draft })).length

  it.prop("name an interval that is longer than the lookback", {
    minutes: fc.integer({ min: 1, max: 200 }),
    lookback_minutes: fc.integer({ min: 1, max: 200 })
  }, ({
    lookback_minutes,
    minutes
  }) => {
    const schedule = { type: "interval", every: `${minutes}m` }
    assert.strictEqual(warnings({ lookback_minutes, schedule }), minutes > lookback_minutes ? 1 : 0)
  })

  it("name an enforcing rule without actions", () => {
    assert.strictEqual(warnings({ mode: "enforce" }), 1)
    assert.strictEqual(warnings({ mode: "enforce", actions: ["block"] }), 0)
    assert.strictEqual(warnings({}), 0)
  })
})

const instant = fc.integer({ min: 0, max: 4_000_000_000_000 })
const minute = 60_000
const most = lookbackMinutesMax * minute

describe("the window of a run", () => {
  it.prop("is the lookback, or what was asked for, and at most seven days", {
    now: instant,
    lookback_minutes: fc.integer({ min: 1, max: lookbackMinutesMax }),
    ends: fc.option(instant, { nil: undefined }),
    length: fc.option(fc.integer({ min: -2 * most, max: 2 * most }), { nil: undefined })
  }, ({ ends, length, lookback_minutes, now }) => {
    const end = ends ?? now
    const start = length === undefined ? undefined : end - length
    const text = (millis: number | undefined) => millis === undefined ? undefined : new Date(millis).toISOString()
    const window = windowOf({ lookback_minutes }, { start: text(start), end: text(ends) }, DateTime.unsafeMake(now))
    const spans = length ?? lookback_minutes * minute
    if (spans <= 0 || spans > most) {
      assert.strictEqual(Either.isLeft(window) && window.left.field, "start")
    } else {
      assert.deepStrictEqual(window, Either.right({ start: new Date(end - spans), end: new Date(end) }))
    }
  }, { fastCheck: { numRuns: 500 } })
})
