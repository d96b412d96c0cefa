import { assert } from "@effect/vitest"
import { Effect, Either, FastCheck as fc } from "effect"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { rulesets } from "../support/arbitraries/ruleset.ts"
import { by, draft, inSandbox, open, own, plainly } from "./firewallSandbox.ts"

/** A table that isn't ours, with a counter that has counted. */
const foreign: ReadonlyArray<NftCommandObject> = [
  { add: { table: { family: "ip", name: "theirs" } } },
  { add: { counter: { family: "ip", table: "theirs", name: "k", packets: 7, bytes: 700 } } },
  { add: { chain: { family: "ip", table: "theirs", name: "c" } } },
  { add: { rule: { family: "ip", table: "theirs", chain: "c", expr: [{ counter: { packets: 3, bytes: 9 } }] } } }
]

/** The parts of a table, which stand in the order in which they came. */
const parts = (text: string) => text.trim().replace(/^.*\{\n|\n\}$/g, "").split("\n\n").sort()

/** Random rulesets, valid and half valid, after one another: the kernel has the old or the new one, and theirs stays. */
export const pairs = (count: number) =>
  inSandbox(({ firewall, nft }) =>
    Effect.gen(function*() {
      yield* nft.apply(foreign)
      const theirs = JSON.stringify((yield* nft.list).filter((object) => JSON.stringify(object).includes("theirs")))
      const { id } = yield* firewall.create(draft(open), by)
      yield* firewall.apply(id, plainly)
      let guarded = 0
      const verdicts = { applied: 0, refused: 0 }
      for (const ruleset of fc.sample(rulesets, count)) {
        const before = JSON.stringify(yield* nft.list)
        const judged = yield* firewall.validate({ nftables: ruleset })
        assert.strictEqual(JSON.stringify(yield* nft.list), before)
        yield* firewall.update(id, draft(ruleset), by)
        if (judged.valid && ++guarded % 4 === 0) {
          const text = yield* nft.listText
          yield* firewall.apply(id, { ...plainly, confirmSeconds: 30 })
          yield* firewall.rollback(id)
          assert.strictEqual(yield* nft.listText, text, JSON.stringify(ruleset))
        }
        const outcome = yield* Effect.either(firewall.apply(id, plainly))
        assert.strictEqual(Either.isRight(outcome), judged.valid, JSON.stringify(ruleset))
        const rendered = yield* Effect.either(nft.render(ruleset as ReadonlyArray<NftCommandObject>))
        assert.strictEqual(Either.isRight(rendered), judged.valid, JSON.stringify(ruleset))
        if (Either.isRight(outcome) && Either.isRight(rendered)) {
          verdicts.applied++
          assert.deepStrictEqual(parts(yield* own(nft)), parts(rendered.right), JSON.stringify(ruleset))
          assert.deepStrictEqual((yield* firewall.diff(id)).changes, [])
          const { drift } = yield* firewall.running
          assert.isTrue(drift[0]?.diff.identical, JSON.stringify(drift))
        } else {
          verdicts.refused++
          assert.strictEqual(JSON.stringify(yield* nft.list), before)
          const pointer = judged.errors[0]?.pointer ?? ""
          assert.match(pointer, /^\/nftables\/\d+\/add$/)
          const at = Number(pointer.split("/")[2])
          const without = yield* Effect.either(nft.render(ruleset.slice(0, at) as ReadonlyArray<NftCommandObject>))
          assert.isTrue(Either.isRight(without), `${pointer} ${JSON.stringify(ruleset)}`)
        }
        const now = (yield* nft.list).filter((object) => JSON.stringify(object).includes("theirs"))
        assert.strictEqual(JSON.stringify(now), theirs)
      }
      assert.isAbove(verdicts.applied, 0)
      assert.isAbove(verdicts.refused, 0)
      yield* firewall.remove(id)
      assert.strictEqual(yield* own(nft), "")
    })
  )
