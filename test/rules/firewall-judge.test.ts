import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Option } from "effect"
import { makeJudge } from "../../src/services/firewall/judge.ts"
import { asCommands } from "../../src/services/firewall/policy.ts"
import { replacement } from "../../src/services/firewall/replacement.ts"
import { type Connection, Nft } from "../../src/services/Nft.ts"
import { NftMemory } from "../layers/NftMemory.ts"
import { rulesets } from "../support/arbitraries/ruleset.ts"

const service = { port: 8080, owned: Effect.succeed(new Set<string>()) }
const caller: Connection = { from: "192.0.2.1", to: "192.0.2.2", port: 8080 }

const table = { add: { table: { family: "inet", name: "t" } } }
const chain = (hook: string) => ({
  add: { chain: { family: "inet", table: "t", name: "c", type: "filter", hook, prio: 0, policy: "accept" } }
})

describe("a judgement", () => {
  it.effect("is the same whatever was seen to run before", () =>
    Effect.gen(function*() {
      const nft = yield* Nft
      const judge = makeJudge(nft, service)
      const seen = { valid: 0, invalid: 0 }
      for (const ruleset of fc.sample(rulesets, 100)) {
        const judged = yield* judge(ruleset)
        assert.deepStrictEqual(judged, yield* makeJudge(nft, service)(ruleset))
        seen[judged.valid ? "valid" : "invalid"]++
        if (judged.valid) yield* nft.apply(replacement(yield* nft.list, asCommands(ruleset)).commands)
      }
      assert.isAbove(Math.min(seen.valid, seen.invalid), 0)
    }).pipe(Effect.provide(NftMemory)))

  it.effect("warns of a lockout where the caller's connection was tried and refused", () =>
    Effect.gen(function*() {
      const nft = yield* Nft
      const codes = (admitted: Option.Option<boolean>, hook: string, by?: Connection) =>
        Effect.map(
          makeJudge({ ...nft, admits: () => Effect.succeed(admitted) }, service)([table, chain(hook)], by),
          ({ warnings }) => warnings.map(({ code }) => code)
        )
      for (const hook of ["prerouting", "input", "output", "postrouting"]) {
        assert.deepStrictEqual(yield* codes(Option.some(false), hook, caller), ["caller_locked_out"])
      }
      assert.deepStrictEqual(yield* codes(Option.some(true), "input", caller), [])
      assert.deepStrictEqual(yield* codes(Option.none(), "input", caller), [])
      assert.deepStrictEqual(yield* codes(Option.some(false), "input"), [])
      // What is forwarded is nobody's connection with this service.
      assert.deepStrictEqual(yield* codes(Option.some(false), "forward", caller), [])
    }).pipe(Effect.provide(NftMemory)))
})
