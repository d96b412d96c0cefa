import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { networkInterfaces } from "node:os"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { type Connection, Nft } from "../../src/services/Nft.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const at = { family: "inet", table: "edge" }
const port = 8443
const match = (left: object, right: unknown) => ({ match: { op: "==", left, right } })
const toPort = match({ payload: { protocol: "tcp", field: "dport" } }, port)
const from = (protocol: string, right: unknown) => match({ payload: { protocol, field: "saddr" } }, right)

const input = (policy: string, ...rules: ReadonlyArray<ReadonlyArray<unknown>>): ReadonlyArray<NftCommandObject> => [
  { add: { table: { family: "inet", name: "edge" } } },
  { add: { set: { ...at, name: "friends", type: "ipv4_addr", elem: ["192.0.2.1", "203.0.113.7"] } } },
  { add: { set: { ...at, name: "strangers", type: "ipv4_addr", elem: ["192.0.2.1", "192.0.2.2"] } } },
  { add: { chain: { ...at, name: "in", type: "filter", hook: "input", prio: 0, policy } } },
  ...rules.map((expr) => ({ add: { rule: { ...at, chain: "in", expr } } }))
]

const four: Connection = { from: "203.0.113.7", to: "198.51.100.1", port }
const six: Connection = { from: "2001:db8::7", to: "2001:db8:1::1", port }
const here: Connection = { from: "127.0.0.1", to: "127.0.0.1", port }

const outside =
  Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.flatMap(({ address, family, internal }) => internal || family !== "IPv4" ? [] : [{ name, address }])
  )[0]

liveSuite("a connection tried against a ruleset", ["nft", "unshare", "nsenter", "ip", "bash"], () => {
  it.scopedLive("tells who is let in and who is not, by what happens to it", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* Effect.gen(function*() {
        const nft = yield* Nft
        const before = yield* nft.listText
        const cases: ReadonlyArray<readonly [Connection, boolean | undefined, ReadonlyArray<NftCommandObject>]> = [
          [four, true, input("drop", [toPort, { accept: null }])],
          [four, false, input("drop", [toPort, { drop: null }])],
          [four, false, input("accept", [toPort, { reject: { type: "tcp reset" } }])],
          [four, true, input("drop", [from("ip", "@friends"), { accept: null }])],
          [four, false, input("drop", [from("ip", "@strangers"), { accept: null }])],
          [six, true, input("accept", [from("ip", "@friends"), { drop: null }])],
          [six, false, input("accept", [from("ip6", { prefix: { addr: "2001:db8::", len: 48 } }), { drop: null }])],
          [here, true, input("drop", [match({ meta: { key: "iifname" } }, "lo"), { accept: null }])],
          [here, false, input("drop", [toPort, { accept: null }])],
          [four, undefined, input("accept", [match({ payload: { protocol: "tcp", field: "nonsense" } }, 1)])],
          [{ ...four, from: "224.0.0.1" }, undefined, input("drop")]
        ]
        const told = yield* Effect.forEach(
          cases,
          ([connection, , commands]) => Effect.map(nft.admits(commands, connection), Option.getOrUndefined),
          { concurrency: 2 }
        )
        assert.deepStrictEqual(told, cases.map(([, expected]) => expected))
        if (outside !== undefined) {
          const byName = input("drop", [match({ meta: { key: "iifname" } }, outside.name), { accept: null }])
          const connection = { ...four, to: outside.address }
          assert.deepStrictEqual(yield* nft.admits(byName, connection), Option.some(true))
          assert.deepStrictEqual(yield* nft.admits(byName, here), Option.some(false))
        }
        assert.strictEqual(yield* nft.listText, before)
      }).pipe(Effect.provide(nftIn(path)))
    }), 60_000)
})
