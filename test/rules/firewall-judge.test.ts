import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Option } from "effect"
import { makeJudge } from "../../src/services/firewall/judge.ts"
import { metBy } from "../../src/services/firewall/lockout.ts"
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

const rule = (...expr: ReadonlyArray<unknown>) => ({ add: { rule: { family: "inet", table: "t", chain: "c", expr } } })

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
      const told = "caller_locked_out"
      const codes = (admitted: Option.Option<boolean>, ruleset: ReadonlyArray<unknown>, by?: Connection) =>
        Effect.map(
          makeJudge({ ...nft, admits: () => Effect.succeed(admitted) }, service)(ruleset, by),
          ({ errors, warnings }) => [...errors, ...warnings.map(({ code }) => code).filter((code) => code === told)]
        )
      const [refused, drop] = [Option.some(false), rule({ drop: null })]
      for (const hook of ["prerouting", "input", "output", "postrouting"]) {
        assert.deepStrictEqual(yield* codes(refused, [table, chain(hook), drop], caller), [told])
      }
      const dropping = [table, chain("output"), drop]
      assert.deepStrictEqual(yield* codes(Option.some(true), dropping, caller), [])
      assert.deepStrictEqual(yield* codes(Option.none(), dropping, caller), [])
      assert.deepStrictEqual(yield* codes(refused, dropping), [])
      // What is forwarded is nobody's connection with this service, and what only accepts refuses none.
      assert.deepStrictEqual(yield* codes(refused, [table, chain("forward"), drop], caller), [])
      assert.deepStrictEqual(yield* codes(refused, [table, chain("input"), rule({ accept: null })], caller), [])
    }).pipe(Effect.provide(NftMemory)))
})

describe("what a connection meets", () => {
  const address = fc.constantFrom(caller.from, caller.to, "198.51.100.7", "2001:db8::1", "203.0.113.0")
  const set = (elem: ReadonlyArray<unknown>) => ({
    add: { set: { family: "inet", table: "t", name: "s", type: "ipv4_addr", elem } }
  })
  const lookup = rule(
    { match: { op: "==", left: { payload: { protocol: "ip", field: "saddr" } }, right: "@s" } },
    { drop: null }
  )

  it("is a list of addresses where its own is in it, or what isn't a lone address", () => {
    const range = { range: ["192.0.2.0", "192.0.2.9"] }
    fc.assert(fc.property(fc.array(fc.oneof(address, fc.constant(range))), (elem) => {
      const met = Option.getOrThrow(metBy([table, set(elem), chain("input"), lookup], caller))
      const own = elem.filter((element) => [range, caller.from, caller.to].some((one) => element === one))
      assert.deepStrictEqual(met.find(({ kind }) => kind === "set")?.body["elem"] ?? [], own)
      assert.strictEqual(met.some(({ kind }) => kind === "rule"), own.length > 0)
    }))
  })

  it("is any set that rules fill", () => {
    const fill = rule({ set: { op: "add", elem: { payload: { protocol: "ip", field: "saddr" } }, set: "@s" } })
    const met = Option.getOrThrow(metBy([table, set([]), chain("input"), fill, lookup], caller))
    assert.strictEqual(met.filter(({ kind }) => kind === "rule").length, 2)
  })

  it("isn't told of more than can be tried", () => {
    const ports = Array.from({ length: 5_001 }, (_, n) => n)
    assert.isTrue(Option.isNone(metBy([table, set(ports), chain("input"), lookup], caller)))
  })
})
