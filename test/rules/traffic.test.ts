import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, TestClock } from "effect"
import { Nft } from "../../src/services/Nft.ts"
import { nothing, type Traffic, trafficBetween } from "../../src/services/TrafficCounters.ts"
import { makeSampler } from "../../src/services/TrafficSampler.ts"
import { EventMemory } from "../layers/DhcpEventsMemory.ts"
import { ObservedMemory, TrafficSamplesMemory } from "../layers/MetricsMemory.ts"
import { NftMemory } from "../layers/NftMemory.ts"

const fields = Object.keys(nothing) as ReadonlyArray<keyof Traffic>
const reading = (n: number): Traffic => Object.fromEntries(fields.map((field) => [field, n])) as unknown as Traffic

describe("differences of counters", () => {
  it("add up to what was counted since the first reading, resets and all", () => {
    fc.assert(fc.property(fc.array(fc.record({ grows: fc.nat(1e9), reset: fc.boolean() })), (changes) => {
      let [total, before, counter] = [0, 0, 0]
      let sum = 0
      for (const { grows, reset } of changes) {
        counter = (reset ? 0 : counter) + grows
        const difference = trafficBetween(reading(before), reading(counter)).inbound_bytes
        assert.isTrue(difference >= 0 && difference <= counter)
        // A reset that grew past the last reading can't be told from none.
        total += reset && counter >= before ? counter - before : grows
        sum += difference
        before = counter
      }
      assert.strictEqual(sum, total)
    }))
  })
})

const Layers = Layer.mergeAll(NftMemory, TrafficSamplesMemory).pipe(
  Layer.provideMerge(Layer.merge(ObservedMemory.layer, EventMemory.layer))
)

describe("the traffic sampler", () => {
  it.effect("makes a meter where nothing counts, once, and stores differences", () =>
    Effect.gen(function*() {
      const nft = yield* Nft
      const { samples } = yield* ObservedMemory
      const sample = yield* makeSampler("node-1", undefined)
      yield* sample
      assert.deepStrictEqual(samples, [])
      const made = yield* nft.listText
      yield* TestClock.adjust("10 seconds")
      yield* sample
      assert.deepStrictEqual(samples, [{ at_ms: 10_000, node: "node-1", target: "memory", ...nothing }])
      assert.strictEqual(yield* nft.listText, made)
      const names = (yield* nft.counters({ family: "inet", name: "netops_meter" })).map(({ name }) => name)
      assert.deepStrictEqual(names.sort(), ["inbound", "outbound"])
      assert.deepStrictEqual(yield* nft.counters({ family: "inet", name: "none" }), [])
    }).pipe(Effect.provide(Layers)))

  it.effect("prefers the counters of the enforcement and stores nothing across the change", () =>
    Effect.gen(function*() {
      const nft = yield* Nft
      const { samples } = yield* ObservedMemory
      const sample = yield* makeSampler("node-1", undefined)
      yield* sample
      const table = { family: "inet", name: "netops_enforce" }
      yield* nft.apply([
        { add: { table } },
        ...["inbound", "outbound"].map((name) => ({
          add: { counter: { family: "inet", table: "netops_enforce", name } }
        }))
      ])
      yield* sample
      assert.deepStrictEqual(samples, [])
      yield* sample
      assert.strictEqual(samples.length, 1)
    }).pipe(Effect.provide(Layers)))
})
