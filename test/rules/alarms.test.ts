import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { randomUUID } from "node:crypto"
import type { Alarm } from "../../src/schema/Alarm.ts"
import { RuleId } from "../../src/schema/AutomationRule.ts"
import { UserId } from "../../src/schema/User.ts"
import { acknowledge, observe, resolve } from "../../src/services/AlarmRules.ts"

const at = (minutes: number) => DateTime.add(DateTime.unsafeMake("2026-01-31T08:00:00Z"), { minutes })
const rule = {
  id: RuleId.make("00000000-0000-4000-8000-000000000001"),
  name: "busy",
  severity: "warning" as const,
  cooldown_minutes: 10
}
const client = { MAC: "02:00:00:00:00:01", DUID: "", TotalRequests: 5, UniqueIPs: 1, Protocol: "dhcpv4" as const }
const by = UserId.make(7)

/** The alarms of the rule over time: `detected` and `absent` are runs, at these minutes. */
const story = () => {
  const alarms = new Map<string, Alarm>()
  const moves: Array<string> = []
  const apply = (change: ReturnType<typeof observe>) => {
    for (const alarm of change.alarms) alarms.set(alarm.id, alarm)
    moves.push(...change.transitions.map(({ by, from_status, to_status }) => `${from_status}>${to_status}${by}`))
  }
  const latest = () => [...alarms.values()].at(-1)!
  const mover = (minutes: number) => ({ by, at: at(minutes), requestId: "r", comment: undefined })
  const run = (minutes: number, matched: ReadonlyArray<typeof client>) =>
    apply(observe([...alarms.values()], { rule, at: at(minutes), matched, requestId: "r" }, randomUUID))
  return {
    moves,
    latest,
    count: () => alarms.size,
    detected: (minutes: number) => run(minutes, [client]),
    absent: (minutes: number) => run(minutes, []),
    acknowledge: (minutes: number) => apply(acknowledge(latest(), mover(minutes), randomUUID)),
    resolve: (minutes: number) => apply(resolve(latest(), mover(minutes), randomUUID))
  }
}

describe("alarms", () => {
  it("open once, are refreshed while they fire, and resolve when the client is gone", () => {
    const { absent, acknowledge, detected, latest, moves } = story()
    detected(0)
    detected(5)
    acknowledge(6)
    acknowledge(7)
    detected(10)
    assert.deepInclude(latest(), { count: 3, status: "acknowledged", acknowledged_by: by })
    assert.strictEqual(DateTime.toEpochMillis(latest().acknowledged_at!), DateTime.toEpochMillis(at(6)))
    absent(15)
    absent(20)
    assert.deepStrictEqual(moves, [">firing", "firing>acknowledged7", "acknowledged>resolved"])
    assert.isNull(latest().resolved_by)
  })

  it("reopen for a client that comes back within the cooldown, and open anew after it", () => {
    const { absent, count, detected, latest, moves } = story()
    detected(0)
    absent(1)
    detected(2)
    absent(3)
    detected(12)
    assert.deepInclude(latest(), { flaps: 2, status: "firing" })
    absent(13)
    detected(23)
    assert.strictEqual(count(), 2)
    assert.deepStrictEqual(moves.slice(-3), ["resolved>firing", "firing>resolved", ">firing"])
  })

  it("stay resolved by hand while the client is detected on and on, until the cooldown is over", () => {
    const { count, detected, latest, resolve } = story()
    detected(0)
    resolve(1)
    for (let minutes = 2; minutes < 11; minutes++) detected(minutes)
    assert.deepInclude(latest(), { status: "resolved", resolved_by: by })
    detected(11)
    assert.strictEqual(count(), 2)
  })

  it("reopen after a resolution by hand once the client was away", () => {
    const { absent, count, detected, latest, resolve } = story()
    detected(0)
    resolve(1)
    absent(2)
    detected(3)
    assert.strictEqual(count(), 1)
    assert.deepInclude(latest(), { status: "firing", flaps: 1, resolved_by: null })
  })

  it("are not changed by a run that looked at older traffic", () => {
    const { absent, detected, latest, moves } = story()
    detected(5)
    absent(4)
    detected(3)
    assert.deepInclude(latest(), { status: "firing", count: 1 })
    absent(6)
    detected(5)
    assert.deepStrictEqual(moves, [">firing", "firing>resolved"])
  })
})
