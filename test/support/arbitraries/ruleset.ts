import { FastCheck as fc } from "effect"

const map = <A, B>(from: fc.Arbitrary<A>, f: (a: A) => B): fc.Arbitrary<B> => from.map(f)

const at = { family: "inet", table: "own" }
const address = fc.constantFrom("192.0.2.1", "192.0.2.7", "198.51.100.3", "10.9.8.7")

const sets = fc.oneof(
  map(fc.uniqueArray(address), (elem) => ({ set: { ...at, name: "s", type: "ipv4_addr", elem } })),
  map(fc.uniqueArray(address), (elem) => ({ set: { ...at, name: "s", type: "ipv4_addr", elem } })),
  fc.constant({ set: { ...at, name: "s", type: "ether_addr" } }),
  map(fc.uniqueArray(address), (all) => ({
    map: { ...at, name: "v", type: "ipv4_addr", map: "verdict", elem: all.map((key) => [key, { drop: null }]) }
  }))
)

const base = (name: string, hook: string) =>
  map(fc.record({ prio: fc.constantFrom(0, 0, 0, 10), policy: fc.constantFrom("accept", "drop") }), (more) => ({
    chain: { ...at, name, type: "filter", hook, ...more }
  }))
const chains = fc.oneof(base("in", "input"), base("fwd", "forward"), fc.constant({ chain: { ...at, name: "side" } }))

const match = (right: unknown) => ({
  match: { op: "==", left: { payload: { protocol: "ip", field: "saddr" } }, right }
})
const statements = fc.constantFrom<ReadonlyArray<unknown>>(
  [match("@s"), { drop: null }],
  [match("192.0.2.9"), { counter: null }, { accept: null }],
  [{ counter: "k" }, { accept: null }],
  [{ jump: { target: "side" } }],
  [{ drop: null }]
)
const rules = map(fc.tuple(fc.constantFrom("in", "fwd", "side"), statements), ([chain, expr]) => ({
  rule: { ...at, chain, expr }
}))

const add = (object: fc.Arbitrary<object>) => map(object, (object) => ({ add: object }))

/** Rulesets of the table `inet own`, of which many refer to what they don't declare and are refused. */
export const rulesets: fc.Arbitrary<ReadonlyArray<object>> = map(
  fc.tuple(
    fc.array(add(sets), { maxLength: 2 }),
    fc.array(add(fc.constant({ counter: { ...at, name: "k" } })), { maxLength: 1 }),
    fc.array(add(chains), { maxLength: 3 }),
    fc.array(add(rules), { maxLength: 5 })
  ),
  ([a, b, c, d]) => [{ add: { table: { family: "inet", name: "own" } } }, ...a, ...b, ...c, ...d]
)
