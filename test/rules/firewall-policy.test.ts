import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { difference } from "../../src/services/firewall/difference.ts"
import { refusals, unspeakable } from "../../src/services/firewall/policy.ts"
import { replacement } from "../../src/services/firewall/replacement.ts"
import { warnings } from "../../src/services/firewall/warnings.ts"
import { rulesets } from "../support/arbitraries/ruleset.ts"
import { nftCorpus } from "../support/nftCorpus/cases.ts"

const at = { family: "inet", table: "t" }
const table = { table: { family: "inet", name: "t" } }
const pointers = (commands: ReadonlyArray<unknown>) => refusals(commands).map(({ pointer }) => pointer)
const saddr = { payload: { protocol: "ip", field: "saddr" } }
const rule = (...expr: ReadonlyArray<unknown>) => ({ add: { rule: { ...at, chain: "c", expr } } })
const set = (type: unknown, elem: unknown) => ({ set: { ...at, name: "s", type, elem } })

describe("the policy", () => {
  it("takes what listings and add commands say", () => {
    fc.assert(fc.property(rulesets, (ruleset) => assert.deepStrictEqual(refusals(ruleset), [])))
    assert.deepStrictEqual(refusals([{ metainfo: { json_schema_version: 1 } }, table]), [])
  })

  it("refuses commands that aren't declarations, and names of its own, where they stand", () => {
    const verbs = ["delete", "flush", "insert", "replace", "create", "list", "reset", "rename", "destroy", "ruleset"]
    for (const verb of verbs) assert.deepStrictEqual(pointers([table, { [verb]: table }]), [`/nftables/1/${verb}`])
    assert.deepStrictEqual(pointers([{ add: { table: { family: "inet", name: "netops_enforce" } } }]), [
      "/nftables/0/add/table/name"
    ])
    assert.deepStrictEqual(pointers([{ chain: { family: "inet", table: "netops_x", name: "c" } }]), [
      "/nftables/0/chain/table"
    ])
    for (const odd of [null, 1, "x", [], {}, { add: table, x: 1 }, { add: null }, { add: { table: 1 } }]) {
      assert.strictEqual(refusals([odd]).length, 1, JSON.stringify(odd))
    }
  })

  it("refuses nothing of what libnftables JSON can say but families that don't exist", () => {
    const refused = nftCorpus().filter(({ nftables }) => refusals(nftables).length > 0)
    assert.sameMembers(refused.map(({ name }) => name.slice(0, 60)), [
      "[{\"add\":{\"table\":{\"name\":\"t\"}}}]",
      "[{\"add\":{\"table\":{\"family\":\"ipx\",\"name\":\"t\"}}}]",
      "[{\"add\":{\"table\":{\"family\":\"inet\"}}}]"
    ])
  })

  it("knows names that nft's own language can't say", () => {
    const named = (name: string) => unspeakable([{ table: { family: "inet", name } }]).map(({ pointer }) => pointer)
    for (const name of ["", "1a", "a b", "a\"b", "a;b", "a\nb", "é", "a".repeat(256), "@a", "a{"]) {
      assert.deepStrictEqual(named(name), ["/nftables/0/table/name"], name)
      assert.deepStrictEqual(refusals([{ table: { family: "inet", name } }]), [])
    }
    for (const name of ["_", "a.b-c/d\\e_1", "a".repeat(255)]) assert.deepStrictEqual(named(name), [])
  })

  it("refuses texts that can't be kept", () => {
    assert.deepStrictEqual(pointers([rule({ log: { prefix: "a\0b" } }, { log: { prefix: "a\ud800" } })]), [
      "/nftables/0/add/rule/expr/0/log/prefix",
      "/nftables/0/add/rule/expr/1/log/prefix"
    ])
  })

  it("finds a host name wherever nft would look it up, and no other text", () => {
    const host = "gateway.example.net"
    const places: ReadonlyArray<[command: unknown, pointer: string]> = [
      [set("ipv4_addr", ["192.0.2.1", host]), "/nftables/0/set/elem/1"],
      [set(["ipv4_addr", "inet_service"], [{ concat: [host, "ssh"] }]), "/nftables/0/set/elem/0/concat/0"],
      [set("ipv6_addr", [{ elem: { val: host, timeout: 5 } }]), "/nftables/0/set/elem/0/elem/val"],
      [set("ipv4_addr", [{ prefix: { addr: host, len: 8 } }]), "/nftables/0/set/elem/0/prefix/addr"],
      [set("ipv4_addr", [{ range: ["192.0.2.1", host] }]), "/nftables/0/set/elem/0/range/1"],
      [{ add: { element: { ...at, name: "unknown", elem: [host] } } }, "/nftables/0/add/element/elem/0"],
      [rule({ match: { op: "==", left: saddr, right: host } }), "/nftables/0/add/rule/expr/0/match/right"],
      [
        rule({ match: { op: "==", left: saddr, right: { set: [host] } } }),
        "/nftables/0/add/rule/expr/0/match/right/set/0"
      ],
      [rule({ dnat: { addr: host, port: "ssh" } }), "/nftables/0/add/rule/expr/0/dnat/addr"],
      [
        rule({ vmap: { key: saddr, data: { set: [[host, { accept: null }]] } } }),
        "/nftables/0/add/rule/expr/0/vmap/data/set/0/0"
      ],
      [
        rule({ dnat: { addr: { map: { key: { meta: { key: "iifname" } }, data: { set: [["eth0", host]] } } } } }),
        "/nftables/0/add/rule/expr/0/dnat/addr/map/data/set/0/1"
      ],
      [rule({ mangle: { key: saddr, value: host } }), "/nftables/0/add/rule/expr/0/mangle/value"]
    ]
    for (const [command, pointer] of places) {
      assert.deepStrictEqual(pointers([command]), [pointer])
      for (const literal of ["192.0.2.1", "2001:db8::1", "0x7f.1", "10"]) {
        const text = JSON.stringify(command).replaceAll(host, literal)
        assert.deepStrictEqual(refusals([JSON.parse(text)]), [], text)
      }
    }
    const harmless = [
      set("inet_service", ["ssh"]),
      rule({ match: { op: "in", left: { ct: { key: "state" } }, right: ["established", "related"] } }),
      rule({ match: { op: "==", left: { meta: { key: "iifname" } }, right: "eth0" } }),
      rule({ log: { prefix: host } }, { jump: { target: host } }, {
        reject: { type: "icmp", expr: "host-unreachable" }
      })
    ]
    assert.deepStrictEqual(refusals(harmless), [])
    for (const odd of ["300.1.1.1", "1.2.3.4.5", "10.0.0.0/8", " 192.0.2.1", "08.1.1.1", "4294967296"]) {
      assert.strictEqual(refusals([set("ipv4_addr", [odd])]).length, 1, odd)
    }
  })
})

describe("a diff", () => {
  const tables = ["inet own"]

  it("is empty exactly from a ruleset to itself, whatever the order of elements", () => {
    fc.assert(fc.property(rulesets, rulesets, (one, other) => {
      assert.isTrue(difference(one, one, tables).identical)
      const [there, back] = [difference(one, other, tables), difference(other, one, tables)]
      assert.deepStrictEqual([there.added, there.removed, there.changed], [back.removed, back.added, back.changed])
    }))
    const elements = (elem: ReadonlyArray<string>) => [{ set: { ...at, name: "s", type: "ipv4_addr", elem } }]
    assert.isTrue(difference(elements(["1.1.1.1", "2.2.2.2"]), elements(["2.2.2.2", "1.1.1.1"]), ["inet t"]).identical)
    assert.isFalse(difference(elements(["1.1.1.1"]), elements(["1.1.1.2"]), ["inet t"]).identical)
  })
})

describe("a replacement", () => {
  it("is the ruleset itself where its tables don't run, and never touches another table", () => {
    const other = { table: { family: "ip", name: "other" } }
    fc.assert(fc.property(rulesets, rulesets, (running, wanted) => {
      const commands = wanted as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(replacement([other], commands).commands, commands)
      const { commands: all, start } = replacement([other, ...running], commands)
      assert.deepStrictEqual(all.slice(start, start + commands.length), commands)
      assert.notInclude(JSON.stringify(all), "other")
    }))
  })
})

describe("a base chain", () => {
  const flagged = (flags?: ReadonlyArray<string>) => [
    table,
    { set: { ...at, name: "s", type: "inet_service", ...(flags === undefined ? {} : { flags }) } }
  ]
  const chain = (prio: number) => ({ chain: { ...at, name: "c", type: "filter", hook: "input", prio, policy: "drop" } })

  it("stays where it is the same, as do sets whose flags are none, however that is said", () => {
    const { bridged, commands } = replacement([...flagged(), chain(0)], [...flagged([]), chain(0)])
    assert.deepStrictEqual(bridged, [])
    assert.isFalse(commands.some((command) => "delete" in command))
    assert.isTrue(difference(flagged(), flagged([]), ["inet t"]).identical)
  })

  it("goes before all else, and drops to its end", () => {
    const { commands } = replacement([...flagged(), chain(0)], [...flagged(["interval"]), chain(10)])
    const named = { family: "inet", table: "t", name: "c" }
    assert.deepStrictEqual(commands.slice(0, 2), [{ flush: { chain: named } }, { delete: { chain: named } }])
    assert.notInclude(JSON.stringify(commands), "accept")
  })
})

describe("warnings", () => {
  it("name a default drop that lets no answer and not this service in", () => {
    const drop = { chain: { ...at, name: "c", type: "filter", hook: "input", prio: 0, policy: "drop" } }
    const established = rule(
      { match: { op: "in", left: { ct: { key: "state" } }, right: ["established", "related"] } },
      { accept: null }
    )
    const port = rule(
      { match: { op: "==", left: { payload: { protocol: "tcp", field: "dport" } }, right: 8080 } },
      { accept: null }
    )
    assert.strictEqual(warnings([table, drop], { port: 8080 }).length, 2)
    assert.strictEqual(warnings([table, drop, established], { port: 8080 }).length, 1)
    assert.strictEqual(warnings([table, drop, established, port], { port: 8080 }).length, 0)
    assert.strictEqual(warnings([table, drop, established, port], { port: 8081 }).length, 1)
  })
})
