import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { linkErrors } from "../../src/services/firewall/links.ts"

const at = { family: "inet", table: "t" }
const add = (kind: string, body: object) => ({ add: { [kind]: { ...at, ...body } } })
const jump = (target: string, verb = "jump") => ({ [verb]: { target } })
const rule = (chain: string, ...expr: ReadonlyArray<unknown>) => add("rule", { chain, expr })
const key = { payload: { protocol: "tcp", field: "dport" } }
const hook = { type: "filter", hook: "input", prio: 0, policy: "accept" }
const table = { add: { table: { family: "inet", name: "t" } } }

/** One link from a chain to another, in each of the ways to say it. */
const link = (how: number, from: string, to: string): ReadonlyArray<object> => {
  const map = `${from}-${to}`
  switch (how) {
    case 0:
      return [rule(from, jump(to))]
    case 1:
      return [rule(from, { counter: null }, jump(to, "goto"))]
    case 2:
      return [rule(from, { vmap: { key, data: { set: [[22, { accept: null }], [80, jump(to)]] } } })]
    case 3:
      return [
        add("map", { name: map, type: "inet_service", map: "verdict", elem: [[80, jump(to)]] }),
        rule(from, { vmap: { key, data: `@${map}` } })
      ]
    default:
      return [
        add("map", { name: map, type: "inet_service", map: "verdict" }),
        rule(from, { vmap: { key, data: `@${map}` } }),
        add("element", { name: map, elem: [[80, jump(to)]] })
      ]
  }
}

const chains = ["in", ...Array.from({ length: 20 }, (_, n) => `c${n}`)]
const links = fc.array(
  fc.record({ how: fc.nat(4), from: fc.nat(20), to: fc.integer({ min: 1, max: 20 }) }),
  { maxLength: 40 }
)

const declared = chains.map((name) => add("chain", { name, ...(name === "in" ? hook : {}) }))
const all = (pairs: ReadonlyArray<readonly [number, number]>, how = 0) => [
  table,
  ...declared,
  ...pairs.flatMap(([from, to]) => link(how, chains[from]!, chains[to]!))
]

/** Whether a walk of sixteen links begins at the base chain, by walking. */
const walks = (pairs: ReadonlyArray<readonly [number, number]>, from = 0, left = 16): boolean => {
  const dead = new Set<string>()
  const walk = (from: number, left: number): boolean => {
    if (left === 0) return true
    if (dead.has(`${from} ${left}`)) return false
    const found = pairs.some(([near, far]) => near === from && walk(far, left - 1))
    if (!found) dead.add(`${from} ${left}`)
    return found
  }
  return walk(from, left)
}

describe("links of chains", () => {
  it("are refused in a circle and deeper than sixteen, at the command that makes them so", () => {
    const seen = { fine: 0, deep: 0 }
    fc.assert(
      fc.property(links, (drawn) => {
        const pairs = drawn.map(({ from, to }) => [from, to] as const)
        const commands = [
          table,
          ...declared,
          ...drawn.flatMap(({ from, how, to }) => link(how, chains[from]!, chains[to]!))
        ]
        const [error] = linkErrors(commands)
        assert.strictEqual(error !== undefined, walks(pairs))
        seen[error === undefined ? "fine" : "deep"]++
        if (error === undefined) return
        const index = Number(/^\/nftables\/(\d+)\/add$/.exec(error.pointer)?.[1])
        assert.deepStrictEqual(linkErrors(commands.slice(0, index)), [])
        assert.strictEqual(linkErrors(commands.slice(0, index + 1)).length, 1)
      }),
      { numRuns: 500 }
    )
    assert.isAbove(Math.min(seen.fine, seen.deep), 0)
  })

  it("are as many as the kernel allows", () => {
    const line = (length: number) => Array.from({ length }, (_, n) => [n, n + 1] as const)
    for (const how of [0, 1, 2, 3, 4]) {
      assert.deepStrictEqual(linkErrors(all(line(15), how)), [])
      assert.strictEqual(linkErrors(all(line(16), how)).length, 1)
      // No packet gets there.
      assert.deepStrictEqual(linkErrors(all([[1, 1]], how)), [])
      assert.strictEqual(linkErrors(all([[0, 1], [1, 1]], how)).length, 1)
    }
  })
})
