import { assert, describe, layer as withLayer } from "@effect/vitest"
import { Effect, Either, FastCheck as fc, Layer } from "effect"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { Nft } from "../../src/services/Nft.ts"
import { NftMemory } from "../layers/NftMemory.ts"

type Service = Nft["Type"]

const volatile = ["handle", "expires", "packets", "bytes"]

const without = (keys: ReadonlyArray<string>, objects: ReadonlyArray<unknown>): unknown =>
  JSON.parse(JSON.stringify(objects, (key, value) => keys.includes(key) ? undefined : value))

/** A listing without what differs from run to run: handles, counted values, remaining time. */
export const normalised = (objects: ReadonlyArray<unknown>): unknown => without(volatile, objects)

const map = <A, B>(from: fc.Arbitrary<A>, f: (a: A) => B): fc.Arbitrary<B> => from.map(f)

const table = fc.constantFrom({ family: "inet", table: "t1" }, { family: "inet", table: "t2" }, {
  family: "ip",
  table: "t1"
})
const tableObject = map(table, ({ family, table }) => ({ table: { family, name: table } }))
const named = (kind: string, name: string, more: object = {}) =>
  map(table, (place) => ({ [kind]: { ...place, name, ...more } }))

const base = { type: "filter", hook: "input", prio: 0, policy: "accept" }
const chains = fc.oneof(named("chain", "c1"), named("chain", "c2"), named("chain", "b", base), named("chain", "b"))
const sets = fc.oneof(
  named("set", "s1", { type: "ipv4_addr" }),
  named("set", "s1", { type: "ipv4_addr", elem: ["192.0.2.1"] }),
  named("set", "s1", { type: "ether_addr" }),
  named("set", "s2", { type: "ether_addr", flags: ["timeout"] }),
  named("map", "m1", { type: "ipv4_addr", map: "mark" }),
  named("map", "v1", { type: "ipv4_addr", map: "verdict" }),
  named("set", "m1", { type: "ipv4_addr" })
)
const counters = named("counter", "k1")

const addresses = fc.array(fc.constantFrom("9.0.0.1", "10.0.0.2", "192.0.2.1", "198.51.100.7"), { maxLength: 4 })
const macs = fc.array(fc.constantFrom("02:bd:00:00:00:01", "02:bd:00:00:00:02", "fe:00:00:00:00:00"), { maxLength: 3 })
const elementsOf = <A>(name: string, elements: fc.Arbitrary<ReadonlyArray<A>>) =>
  map(fc.tuple(table, elements), ([place, elem]) => ({ element: { ...place, name, elem } }))
const timed = map(macs, (all) => all.map((val) => ({ elem: { val, timeout: 3600 } })))
const marked = map(fc.tuple(addresses, fc.constantFrom(1, 2)), ([all, mark]) => all.map((key) => [key, mark]))
const judged = map(addresses, (all) => all.map((key) => [key, { drop: null }]))
const added = fc.oneof(
  elementsOf("s1", addresses),
  elementsOf("s2", timed),
  elementsOf("s1", timed),
  elementsOf("m1", marked),
  elementsOf("v1", judged)
)
const removed = fc.oneof(elementsOf("s1", addresses), elementsOf("s2", macs), elementsOf("m1", addresses))

const saddr = { payload: { protocol: "ip", field: "saddr" } }
const expressions = fc.constantFrom<ReadonlyArray<unknown>>(
  [{ drop: null }],
  [{ counter: null }, { accept: null }],
  [{ counter: "k1" }],
  [{ jump: { target: "c2" } }],
  [{ goto: { target: "c2" } }],
  [{ jump: { target: "b" } }],
  [{ match: { op: "==", left: saddr, right: "@s1" } }, { drop: null }],
  [{ match: { op: "==", left: saddr, right: "192.0.2.9" } }, { return: null }]
)
const rules = map(
  fc.tuple(table, fc.constantFrom("b", "c1"), expressions, fc.constantFrom({}, { comment: "why" })),
  ([place, chain, expr, comment]) => ({ rule: { ...place, chain, expr, ...comment } })
)

const verb = (verb: string, object: fc.Arbitrary<object>) =>
  map(object, (object): NftCommandObject => ({ [verb]: object }))

/** Commands over a few names, so that they often meet; many are refused. */
const commands = fc.oneof(
  { arbitrary: verb("add", fc.oneof(tableObject, chains, sets, counters, added)), weight: 6 },
  { arbitrary: verb("add", rules), weight: 3 },
  verb("insert", rules),
  verb("delete", fc.oneof(tableObject, chains, sets, counters, removed)),
  verb("flush", fc.oneof(tableObject, chains, sets)),
  fc.oneof(tableObject, chains) as fc.Arbitrary<NftCommandObject>
)

const empty: NftCommandObject = { flush: { ruleset: null } }

const everyTable = ["t1", "t2"].flatMap((name) => ["inet", "ip"].map((family) => ({ family, name })))
/** Most of what the commands speak of, so that they meet something. */
const furniture: ReadonlyArray<NftCommandObject> = everyTable.flatMap(({ family, name: table }) => [
  { add: { table: { family, name: table } } },
  { add: { chain: { family, table, name: "b", ...base } } },
  { add: { chain: { family, table, name: "c1" } } },
  { add: { chain: { family, table, name: "c2" } } },
  { add: { counter: { family, table, name: "k1" } } },
  { add: { set: { family, table, name: "s1", type: "ipv4_addr", elem: ["9.0.0.1"] } } },
  { add: { set: { family, table, name: "s2", type: "ether_addr", flags: ["timeout"] } } },
  { add: { map: { family, table, name: "m1", type: "ipv4_addr", map: "mark" } } },
  { add: { map: { family, table, name: "v1", type: "ipv4_addr", map: "verdict" } } },
  { add: { rule: { family, table, chain: "b", expr: [{ jump: { target: "c1" } }] } } },
  { add: { rule: { family, table, chain: "c1", expr: [{ drop: null }] } } }
])
const starts = fc.constantFrom<ReadonlyArray<NftCommandObject>>([empty], [empty, ...furniture])
const transactions = fc.array(fc.array(commands, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })

/** Refused by every implementation: nothing of that name exists. */
const impossible: NftCommandObject = { delete: { table: { family: "inet", name: "nowhere" } } }

/** The removal of the nth rule of the listing, by the handle that it has there. */
const ruleRemoval = (
  objects: ReadonlyArray<Readonly<Record<string, unknown>>>,
  n: number
): ReadonlyArray<NftCommandObject> => {
  const rules = objects.filter((object) => "rule" in object).map(({ rule }) => rule as Record<string, unknown>)
  const { chain, family, handle, table } = rules[n % Math.max(rules.length, 1)] ?? { handle: 9_999, chain: "c1" }
  return [{ delete: { rule: { family: family ?? "inet", table: table ?? "t1", chain, handle } } }]
}

/** What every implementation of `Nft` keeps; run once per layer, on a ruleset that may be emptied. */
export const nftContract = <E>(name: string, layer: Layer.Layer<Nft, E>, numRuns: number) =>
  describe(`Nft contract: ${name}`, () => {
    // What starts processes waits for them by the real clock.
    withLayer(layer, { timeout: "30 seconds", excludeTestServices: true })((it) => {
      const property = { fastCheck: { numRuns } }

      it.effect.prop(
        "accepts, refuses and lists as the model does",
        [starts, transactions, fc.nat(5)],
        ([start, all, n]) =>
          Effect.gen(function*() {
            const one = yield* Nft
            const model = yield* Effect.map(Effect.provide(Nft, Layer.fresh(NftMemory)), (model): Service => model)
            yield* Effect.all([one.apply(start), model.apply(start)])
            const same = (own: ReadonlyArray<NftCommandObject>, models: ReadonlyArray<NftCommandObject>) =>
              Effect.gen(function*() {
                const verdict = Either.isRight(yield* Effect.either(one.apply(own)))
                assert.strictEqual(
                  verdict,
                  Either.isRight(yield* Effect.either(model.apply(models))),
                  JSON.stringify(own)
                )
                assert.deepStrictEqual(normalised(yield* one.list), normalised(yield* model.list), JSON.stringify(own))
              })
            for (const commands of all) yield* same(commands, commands)
            yield* same(ruleRemoval(yield* one.list, n), ruleRemoval(yield* model.list, n))
          }),
        property
      )

      it.effect.prop(
        "check gives the verdict of apply and changes nothing",
        [starts, transactions],
        ([start, all]) =>
          Effect.gen(function*() {
            const nft = yield* Nft
            yield* nft.apply(start)
            for (const commands of all) {
              const before = yield* nft.list
              const checked = yield* Effect.either(nft.check(commands))
              assert.deepStrictEqual(without(["expires"], yield* nft.list), without(["expires"], before))
              const applied = yield* Effect.either(nft.apply(commands))
              assert.strictEqual(Either.isRight(checked), Either.isRight(applied))
            }
          }),
        property
      )

      it.effect.prop(
        "a transaction that fails changes nothing, wherever it fails",
        [starts, transactions],
        ([start, all]) =>
          Effect.gen(function*() {
            const nft = yield* Nft
            yield* nft.apply(start)
            const before = yield* nft.list
            for (const commands of all) {
              const error = yield* Effect.flip(nft.apply([...commands, impossible]))
              assert.strictEqual(error._tag, "Nft/Rejected")
              assert.deepStrictEqual(normalised(yield* nft.list), normalised(before))
            }
          }),
        property
      )

      it.effect.prop(
        "texts are equal exactly when listings are",
        [starts, transactions],
        ([start, all]) =>
          Effect.gen(function*() {
            const nft = yield* Nft
            yield* nft.apply(start)
            for (const commands of all) {
              const [list, text] = yield* Effect.all([nft.list, nft.listText])
              yield* Effect.either(nft.apply(commands))
              const [nextList, nextText] = yield* Effect.all([nft.list, nft.listText])
              const equal = JSON.stringify(normalised(list)) === JSON.stringify(normalised(nextList))
              assert.strictEqual(text === nextText, equal)
            }
          }),
        property
      )

      it.effect("a refusal carries a message of one line", () =>
        Effect.gen(function*() {
          const nft = yield* Nft
          const error = yield* Effect.flip(nft.apply([impossible]))
          assert.strictEqual(error._tag, "Nft/Rejected")
          assert.match(error.message, /^[^\n]*No such file or directory[^\n]*$/)
        }))

      it.effect("what it lists without handles can be applied again", () =>
        Effect.gen(function*() {
          const nft = yield* Nft
          yield* nft.apply([empty, ...furniture])
          const before = normalised(yield* nft.list) as ReadonlyArray<NftCommandObject>
          yield* nft.apply([empty, ...before.map((object) => ({ add: object }))])
          assert.deepStrictEqual(normalised(yield* nft.list), before)
        }))
    })
  })
