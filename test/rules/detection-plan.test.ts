import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { Detector } from "../../src/schema/AutomationRule.ts"
import { messageTypes } from "../../src/schema/DhcpEvent.ts"
import {
  cheapest,
  completeFrom,
  detectionPlans,
  fewEvents,
  type PlanRows,
  rollupsSuffice
} from "../../src/services/DetectionPlan.ts"
import { detector } from "../support/arbitraries/detector.ts"
import { instant } from "../support/arbitraries/instant.ts"

const hour = 3_600_000
const bucketOf = { dhcp_activity_1h: hour, dhcp_activity_1d: 24 * hour, dhcp_events: 1 } as const
const plain: Detector = {
  protocol: "both",
  threshold: { min_requests: 1, operator: "and" },
  max_detections: 10
}
const window = fc.tuple(instant, instant).filter(([a, b]) => a !== b).map(([a, b]) => ({
  start: new Date(Math.min(a, b)),
  end: new Date(Math.max(a, b))
}))

describe("plans of a detection", () => {
  it("are the window in pieces of whole buckets, without gaps and overlaps", () =>
    fc.assert(fc.property(detector, window, instant, (rule, window, from) => {
      const plans = detectionPlans(rule, window, from)
      assert.deepStrictEqual(plans[0].map(({ source }) => source), ["dhcp_events"])
      for (const plan of plans) {
        assert.strictEqual(plan[0].after_ms, window.start.getTime())
        assert.strictEqual(plan.at(-1)!.through_ms, window.end.getTime())
        for (const [index, { after_ms, source, through_ms }] of plan.entries()) {
          assert.isBelow(after_ms, through_ms)
          assert.isTrue(index === 0 || plan[index - 1]!.through_ms === after_ms)
          assert.isTrue(after_ms % bucketOf[source] === 0 && through_ms % bucketOf[source] === 0)
          assert.isTrue(source === "dhcp_events" || after_ms >= from)
        }
      }
    })))

  it("leave to events less than a bucket at either end, and use a day where there is one", () =>
    fc.assert(fc.property(window, (window) => {
      const [start, end] = [window.start.getTime(), window.end.getTime()]
      const plans = detectionPlans(plain, window, 0)
      const wholes = (bucket: number) => Math.floor(end / bucket) - Math.ceil(start / bucket)
      assert.strictEqual(plans.length, 1 + (wholes(hour) > 0 ? 1 : 0) + (wholes(24 * hour) > 0 ? 1 : 0))
      for (const plan of plans.slice(1)) {
        const events = plan.filter(({ source }) => source === "dhcp_events")
        assert.isTrue(events.every(({ after_ms, through_ms }) => through_ms - after_ms < hour))
        assert.isAtMost(events.length, 2)
      }
      const days = plans[2]?.filter(({ source }) => source === "dhcp_activity_1d") ?? []
      assert.lengthOf(days, wholes(24 * hour) > 0 ? 1 : 0)
    })))

  it("are one of events where the rule asks for what no rollup knows", () => {
    const whole = { start: new Date(0), end: new Date(24 * hour) }
    const of = (rule: Partial<Detector>) => detectionPlans({ ...plain, ...rule }, whole, 0).length
    const by = (field: "client_mac" | "hostname"): Detector["filter"] => ({
      _tag: "Group",
      match: "all",
      rules: [{ _tag: "Exists", kind: "text", field, op: "exists", values: [true], negate: false }]
    })
    assert.strictEqual(of({}), 3)
    assert.strictEqual(of({ exclude: { randomized: true, macs: [], ouis: [] } }), 3)
    assert.strictEqual(of({ message_types: messageTypes }), 3)
    assert.strictEqual(of({ filter: by("client_mac") }), 3)
    assert.strictEqual(of({ filter: by("hostname") }), 1)
    assert.strictEqual(of({ message_types: ["discover"] }), 1)
    assert.strictEqual(of({ exclude: { subnets: ["192.0.2.0/24" as never] } }), 1)
    assert.isTrue(rollupsSuffice(plain))
    assert.strictEqual(completeFrom(8 * 24 * hour), 25 * hour)
  })

  const rows = fc.record({ dhcp_events: fc.nat(), dhcp_activity_1h: fc.nat(), dhcp_activity_1d: fc.nat() }, {
    requiredKeys: []
  })

  it("by rollups are taken only where they read less, and the more readily the less that is", () =>
    fc.assert(fc.property(fc.nat(2 ** 31), fc.array(rows), rows, (events, all, more) => {
      const sum = (rows: PlanRows) => Object.values(rows).reduce((sum, count) => sum + count, 0)
      const taken = cheapest(events, all.map((rows) => ({ rows })))
      if (taken !== undefined) assert.isBelow(sum(taken.rows), events)
      if (events <= fewEvents) assert.isUndefined(taken)
      if (taken !== undefined) assert.isDefined(cheapest(events + 1, [...all, more].map((rows) => ({ rows }))))
    })))
})
