import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Schema } from "effect"
import { canonicalInstant, Instant } from "../../src/schema/Time.ts"

const date = fc.date({
  min: new Date("0001-01-02T00:00:00Z"),
  max: new Date("9999-12-30T00:00:00Z"),
  noInvalidDate: true
})
const two = (value: number) => String(value).padStart(2, "0")

/** Any RFC 3339 text of an instant: as told by a clock at this offset. */
const told = fc.record({
  date,
  offset: fc.integer({ min: -14 * 60, max: 14 * 60 }),
  separator: fc.constantFrom("T", "t", " "),
  finer: fc.stringMatching(/^\d{0,6}$/)
}).map(({ date, finer, offset, separator }) => {
  const local = new Date(date.getTime() + offset * 60_000).toISOString().replace("Z", "").replace("T", separator)
  const sign = offset < 0 ? "-" : "+"
  return {
    date,
    text: `${local}${finer}${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
  }
})

describe("instants", () => {
  it.prop("told at any offset and to any fraction become UTC with milliseconds", { told }, ({ told }) => {
    const instant = Schema.decodeUnknownSync(Instant)(told.text)
    assert.strictEqual(instant, told.date.toISOString())
    assert.strictEqual(Schema.decodeUnknownSync(Instant)(instant), instant)
    assert.strictEqual(Schema.encodeSync(Instant)(instant), instant)
  })

  it.prop("sort as texts as they do as times", { a: date, b: date }, ({ a, b }) => {
    const [first, second] = [canonicalInstant(a.toISOString())!, canonicalInstant(b.toISOString())!]
    assert.strictEqual(first < second, a.getTime() < b.getTime())
  })

  it.prop("are on days that there are", {
    year: fc.oneof(fc.constantFrom(1900, 2000, 2024, 2025, 2100), fc.integer({ min: 1, max: 9998 })),
    month: fc.oneof(fc.constant(2), fc.integer({ min: 0, max: 13 })),
    day: fc.oneof(fc.integer({ min: 28, max: 31 }), fc.integer({ min: 0, max: 32 }))
  }, ({ day, month, year }) => {
    const text = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}T12:00:00Z`
    const exact = new Date(0)
    exact.setUTCFullYear(year, month - 1, day)
    const exists = month >= 1 && exact.getUTCMonth() === month - 1 && exact.getUTCDate() === day
    assert.strictEqual(canonicalInstant(text) !== undefined, exists, text)
  }, {
    fastCheck: {
      numRuns: 2000
    }
  })

  it("in other forms are refused", () => {
    const texts = [
      "",
      "now",
      "2026-01-31",
      "2026-01-31T08:00:00",
      "2026-01-31T08:00Z",
      "2026-01-31T24:00:00Z",
      "2026-01-31T08:60:00Z",
      "2026-01-31T08:00:60Z",
      "2026-01-31T08:00:00.Z",
      "2026-01-31T08:00:00+25:00",
      "2026-01-31T08:00:00+0100",
      "+012026-01-31T08:00:00Z",
      "0000-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59-01:00",
      " 2026-01-31T08:00:00Z",
      "2026-01-31T08:00:00Z\n",
      1_769_846_400_000
    ]
    for (const text of texts) assert.isTrue(Either.isLeft(Schema.decodeUnknownEither(Instant)(text)), String(text))
    for (const text of texts) if (typeof text === "string") assert.isUndefined(canonicalInstant(text), text)
  })
})
