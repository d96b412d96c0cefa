import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, TestClock } from "effect"
import {
  changed,
  difference,
  elementCommands,
  type EnforcedMacs,
  isNothing,
  listedMacs
} from "../../src/services/enforcedElements.ts"
import { enforcedSets, frameCommands } from "../../src/services/enforceTable.ts"
import { Nft } from "../../src/services/Nft.ts"
import { NftMemory } from "../layers/NftMemory.ts"

const mac = fc.nat({ max: 7 }).map((index) => `02:00:00:00:00:0${index}`)
const deadline = fc.oneof(fc.constant(Infinity), fc.integer({ min: -5, max: 90 * 24 * 60 }).map((m) => m * 60_000))
const elements = fc.array(fc.tuple(mac, deadline), { maxLength: 8 }).map((pairs) => new Map(pairs))
const sets = fc.record({ blocked_macs: elements, quarantined_macs: elements })

const copy = (macs: EnforcedMacs): EnforcedMacs => ({
  blocked_macs: new Map(macs.blocked_macs),
  quarantined_macs: new Map(macs.quarantined_macs)
})
const standing = (macs: EnforcedMacs, nowMs: number) =>
  enforcedSets.map((set) => [...macs[set]].filter(([, end]) => end > nowMs).map(([mac]) => mac).sort())

describe("the elements of the packet filter", () => {
  it.effect.prop("become the desired ones by what is sent, whatever stood there, and then nothing more is sent", {
    desired: fc.array(sets, { minLength: 1, maxLength: 4 }),
    minutes: fc.array(fc.nat({ max: 60 * 24 }), { minLength: 4, maxLength: 4 })
  }, ({ desired, minutes }) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(0)
      const nft = yield* Nft
      yield* nft.apply(frameCommands("inet", []))
      let nowMs = 0
      let known: EnforcedMacs = { blocked_macs: new Map(), quarantined_macs: new Map() }
      for (const [index, wanted] of desired.entries()) {
        const change = difference(known, wanted, nowMs)
        yield* nft.apply(elementCommands("inet", change, nowMs))
        known = changed(known, change)
        const listed = listedMacs(yield* nft.list, "inet", nowMs)
        assert.deepStrictEqual(standing(listed, nowMs), standing(wanted, nowMs))
        for (const macs of [known, listed]) assert.isTrue(isNothing(difference(copy(macs), wanted, nowMs)))
        // the backstop never holds longer than what is wanted
        for (const set of enforcedSets) {
          for (const [mac, end] of listed[set]) assert.isAtMost(end, wanted[set].get(mac)! + 1000)
        }
        yield* TestClock.adjust(`${minutes[index]!} minutes`)
        nowMs += minutes[index]! * 60_000
      }
    }).pipe(Effect.provide(NftMemory)), { fastCheck: { numRuns: 60 } })

  it.effect.prop(
    "that didn't change are not sent",
    { applied: sets, wanted: elements },
    ({ applied, wanted }) =>
      Effect.sync(() => {
        const touched = new Set(["02:00:00:00:00:01"])
        const change = difference(applied, { blocked_macs: wanted, quarantined_macs: wanted }, 0, touched)
        for (const set of enforcedSets) {
          for (const mac of [...change[set].remove, ...change[set].add.map(([mac]) => mac)]) {
            assert.isTrue(touched.has(mac))
          }
        }
      })
  )
})
