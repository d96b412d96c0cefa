import { assert, describe, it } from "@effect/vitest"
import { DateTime, FastCheck as fc, Schema } from "effect"
import { RuleSchedule } from "../../src/schema/Schedule.ts"
import { duesIn, latestDues, nextDue } from "../../src/services/DueTimes.ts"

const minute = 60_000
const ms = (text: string) => Date.parse(text)
const cron = (expression: string, timezone = "Europe/Berlin"): RuleSchedule =>
  Schema.decodeSync(RuleSchedule)({ type: "cron", cron: expression, timezone })
const every = (text: string): RuleSchedule => ({ type: "interval", every: text })

const schedules = fc.oneof(
  fc.constantFrom("5s", "90s", "7m", "1h", "1d", "7d").map(every),
  fc.record({
    expression: fc.constantFrom("* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 * * 1", "15 */3 * * *", "0 * * * 0"),
    zone: fc.constantFrom("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata")
  }).map(({ expression, zone }) => cron(expression, zone))
)
const year2026 = fc.integer({ min: ms("2026-01-01T00:00:00Z"), max: ms("2026-12-31T00:00:00Z") })

/** What a clock on the wall shows, as minute of the hour, hour and day of the week. */
const wall = (millis: number, zone: string) => {
  const { hours, minutes, weekDay } = DateTime.toParts(DateTime.unsafeMakeZoned(millis, { timeZone: zone }))
  return { hours, minutes, weekDay }
}

describe("due times", () => {
  it("of an interval are the multiples of its length", () => {
    fc.assert(fc.property(fc.constantFrom("5s", "90s", "7m", "1d"), year2026, (text, after) => {
      const length = { "5s": 5000, "90s": 90_000, "7m": 7 * minute, "1d": 1440 * minute }[text]!
      const due = nextDue(every(text), after)!
      assert.strictEqual(due % length, 0)
      assert.isTrue(due > after && due - after <= length)
    }))
    assert.isUndefined(nextDue({ type: "manual" }, 0))
  })

  it("of a cron that names hours: a time that the spring leaves out comes later, one that autumn repeats comes once", () => {
    const at = (schedule: RuleSchedule, from: string, to: string) =>
      duesIn(schedule, ms(from), ms(to)).map((due) => new Date(due).toISOString().slice(0, 16))
    assert.deepStrictEqual(at(cron("30 2 * * *"), "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"), [
      "2026-03-29T01:30",
      "2026-03-30T00:30"
    ])
    assert.deepStrictEqual(at(cron("30 2 * * *"), "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"), [
      "2026-10-25T00:30",
      "2026-10-26T01:30"
    ])
  })

  it("of a cron for every hour are exactly the times at which a clock on the wall shows it, also when clocks change", () => {
    const zones = ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]
    const days = ["2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"]
    for (const zone of zones) {
      for (const day of days) {
        const [from, to] = [ms(`${day}T00:00:00Z`), ms(`${day}T00:00:00Z`) + 2 * 1440 * minute]
        const shown = Array.from({ length: 2 * 144 }, (_, index) => from + (index + 1) * 10 * minute)
        const expected = shown.filter((time) => wall(time, zone).minutes % 20 === 0)
        assert.deepStrictEqual(duesIn(cron("*/20 * * * *", zone), from, to), expected, `${zone} ${day}`)
        const sundays = shown.filter((time) => wall(time, zone).minutes === 0 && wall(time, zone).weekDay === 0)
        assert.deepStrictEqual(duesIn(cron("0 * * * 0", zone), from, to), sundays, `${zone} ${day}`)
      }
    }
  })

  it("of a stretch are those of its parts", () => {
    fc.assert(
      fc.property(schedules, year2026, fc.nat(1440 * minute), fc.nat(1440 * minute), (s, from, a, b) => {
        const whole = a + b > 1440 * minute && s.type === "interval" && s.every === "5s" ? every("90s") : s
        assert.deepStrictEqual(
          [...duesIn(whole, from, from + a), ...duesIn(whole, from + a, from + a + b)],
          duesIn(whole, from, from + a + b)
        )
      }),
      { numRuns: 25 }
    )
  })

  it("of a long stretch are the latest each by itself, and the range of those before", () => {
    fc.assert(
      fc.property(
        schedules,
        year2026,
        fc.nat(1440 * minute),
        fc.integer({ min: 1, max: 40 }),
        (s, from, length, max) => {
          const all = duesIn(s, from, from + length)
          const { each, earlier } = latestDues(s, from, from + length, max)
          assert.deepStrictEqual(each, all.slice(-max))
          const rest = all.slice(0, -max)
          assert.strictEqual(earlier?.first, rest[0])
          if (earlier === undefined) return
          assert.isTrue(earlier.through >= rest.at(-1)! && earlier.through < each[0]!)
        }
      ),
      { numRuns: 100 }
    )
    const week = latestDues(every("5s"), 0, 7 * 1440 * minute, 10_000)
    assert.lengthOf(week.each, 10_000)
    assert.deepStrictEqual(week.earlier, { first: 5000, through: week.each[0]! - 1 })
  })
})
