import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import type { FilterJson, FilterRuleJson } from "../../src/schema/Filter.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { canonicalIp, inRange, ipOctets, parseCidr } from "../../src/schema/Ip.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { dhcpEvent, ip } from "../support/arbitraries/dhcpEvent.ts"
import { filterJson, ruleJson } from "../support/arbitraries/filter.ts"

const compile = (json: FilterJson) => compileDhcpEventPredicate(Schema.decodeUnknownSync(DhcpEventFilter)(json))
const matches = (rule: FilterRuleJson, event: DhcpEvent) => compile({ rules: [rule] })(event)
const negated = (rule: FilterRuleJson): FilterRuleJson => ({ ...rule, negate: rule.negate !== true })
const isGroup = (member: FilterRuleJson | FilterJson): member is FilterJson => "rules" in member

/** The complement by De Morgan: the other match, every rule negated. */
const complement = (filter: FilterJson): FilterJson => ({
  match: filter.match === "any" ? "all" : "any",
  rules: filter.rules.map((member) => isGroup(member) ? complement(member) : negated(member))
})

const make = (fields: Record<string, unknown>): DhcpEvent =>
  ({
    event_time: "2026-01-31T08:00:00.000Z",
    protocol: "dhcpv4",
    message_type: "discover",
    client_mac: "02:bd:00:00:00:01",
    ...fields
  }) as unknown as DhcpEvent

describe("filter predicate", () => {
  it.prop("is the opposite when negated and itself when negated twice", [ruleJson, dhcpEvent], ([rule, event]) => {
    assert.strictEqual(matches(negated(rule), event), !matches(rule, event))
    assert.strictEqual(matches(negated(negated(rule)), event), matches(rule, event))
  })

  it.prop("obeys De Morgan in nested groups", [filterJson, dhcpEvent], ([filter, event]) => {
    if (filter.rules.length > 0) assert.strictEqual(compile(complement(filter))(event), !compile(filter)(event))
  })

  it.prop("an absent value matches only ne, not_in, exists false and what is negated", [ruleJson], ([rule]) => {
    const absent = make({ client_mac: undefined })
    const always = ["event_time", "protocol", "message_type"]
    if (always.includes(rule.field)) return
    const expected = rule.op === "ne" || rule.op === "not_in" || (rule.op === "exists" && rule.value === false)
    assert.strictEqual(matches(rule, absent), expected !== (rule.negate === true))
  })

  it("matches everything when empty, all or any", () => {
    assert.isTrue(compile({ rules: [] })(make({})))
    assert.isTrue(compile({ match: "any", rules: [] })(make({})))
  })

  it("ignores the case of ASCII letters alone, and heeds it in regex", () => {
    assert.isTrue(matches({ field: "hostname", op: "eq", value: "LAPTOP" }, make({ hostname: "laptop" })))
    assert.isTrue(matches({ field: "hostname", op: "contains", value: "ptÉ" }, make({ hostname: "lapTÉ" })))
    assert.isFalse(matches({ field: "hostname", op: "eq", value: "É" }, make({ hostname: "é" })))
    assert.isFalse(matches({ field: "hostname", op: "eq", value: "k" }, make({ hostname: "\u212a" })))
    assert.isFalse(matches({ field: "hostname", op: "regex", value: "LAP" }, make({ hostname: "laptop" })))
    assert.isTrue(matches({ field: "hostname", op: "regex", value: "a.b" }, make({ hostname: "xa\nbx" })))
  })

  it("keeps IPv4 out of IPv6 networks", () => {
    assert.isFalse(matches({ field: "server_ip", op: "cidr", value: "::/0" }, make({ server_ip: "192.0.2.1" })))
    assert.isTrue(matches({ field: "server_ip", op: "cidr", value: "::/0" }, make({ server_ip: "2001:db8::1" })))
    assert.isTrue(matches({ field: "server_ip", op: "cidr", value: "0.0.0.0/0" }, make({ server_ip: "192.0.2.1" })))
    assert.isFalse(matches({ field: "server_ip", op: "cidr", value: "0.0.0.0/0" }, make({ server_ip: "2001:db8::1" })))
  })

  it.prop(
    "holds an address in a network as the octets say",
    [fc.oneof(fc.ipV4(), fc.ipV6(), ip), fc.oneof(fc.ipV4(), fc.ipV6(), ip), fc.nat(128)],
    ([near, base, bits]) => {
      const address = canonicalIp(near)!
      const origin = canonicalIp(bits % 2 === 0 ? near : base)!
      const range = parseCidr(`${origin}/${origin.includes(":") ? bits : bits % 33}`)!
      if (address === "::" || address === "0.0.0.0") return
      assert.strictEqual(
        matches({ field: "server_ip", op: "cidr", value: range.text }, make({ server_ip: address })),
        address.includes(":") === origin.includes(":") && inRange(range, ipOctets(address)!)
      )
    }
  )

  it("knows a client by its MAC, else by its DUID", () => {
    const byDuid = make({ client_mac: undefined, duid: "0002aabb" })
    assert.isTrue(matches({ field: "client", op: "eq", value: "00-02-AA-BB" }, byDuid))
    assert.isTrue(matches({ field: "client", op: "eq", value: "02BD00000001" }, make({ duid: "0002aabb" })))
    assert.isFalse(matches({ field: "client", op: "eq", value: "0002aabb" }, make({ duid: "0002aabb" })))
  })

  it("runs a regular expression that explodes elsewhere in linear time", () => {
    const test = compile({ rules: [{ field: "hostname", op: "regex", value: "^(a+)+$" }] })
    const before = process.cpuUsage()
    assert.isFalse(test(make({ hostname: `${"a".repeat(1023)}!` })))
    assert.isTrue(test(make({ hostname: "a".repeat(1024) })))
    assert.isBelow(process.cpuUsage(before).user, 200_000)
  })
})
