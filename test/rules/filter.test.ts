import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, JSONSchema, ParseResult, Schema } from "effect"
import { Filter, type FilterJson, type FilterRuleJson } from "../../src/schema/Filter.ts"
import { DhcpEventFilter, dhcpEventFilterFields } from "../../src/schema/FilterFields.ts"
import { filterJson } from "../support/arbitraries/filter.ts"

const decode = Schema.decodeUnknownEither(DhcpEventFilter)
const canonical = (input: unknown) =>
  Schema.encodeSync(DhcpEventFilter)(Schema.decodeUnknownSync(DhcpEventFilter)(input))

/** The paths of all problems, `/rules/3/value`, with what was said there. */
const refusal = (input: unknown, schema: Schema.Schema<any, FilterJson> = DhcpEventFilter): Record<string, string> =>
  Either.match(Schema.decodeUnknownEither(schema)(input), {
    onRight: () => ({}),
    onLeft: (error) =>
      Object.fromEntries(
        ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) => [
          path.map((key) => `/${String(key)}`).join(""),
          message
        ])
      )
  })
const refused = (rule: unknown) => Object.keys(refusal({ rules: [rule] }))

const nest = (levels: number): unknown => {
  let group: unknown = { rules: [{ field: "hostname", op: "exists" }] }
  for (let i = 1; i < levels; i++) group = { rules: [group] }
  return group
}

describe("filter", () => {
  it.prop("encodes to canonical JSON, which decodes and encodes to itself", [filterJson], ([json]) => {
    const once = canonical(json)
    assert.deepStrictEqual(canonical(JSON.parse(JSON.stringify(once))), once)
  })

  it("brings every value to its canonical form", () => {
    const value = (rule: FilterRuleJson) => {
      const [first] = canonical({ rules: [rule] }).rules
      return (first as FilterRuleJson).value ?? (first as FilterRuleJson).values
    }
    assert.strictEqual(value({ field: "client_mac", op: "eq", value: "02BD.0000.0001" }), "02:bd:00:00:00:01")
    assert.strictEqual(value({ field: "client_mac", op: "contains", value: "BD-00" }), "bd:00")
    assert.strictEqual(value({ field: "client_mac", op: "starts_with", value: "02BD00" }), "02:bd:00")
    assert.strictEqual(value({ field: "client_mac", op: "oui", values: ["00-0C-01"] }), "00:0c:01")
    assert.strictEqual(value({ field: "duid", op: "contains", value: "00:0A" }), "000a")
    assert.strictEqual(value({ field: "client", op: "eq", value: "02-BD-00-00-00-01" }), "02:bd:00:00:00:01")
    assert.strictEqual(value({ field: "client", op: "eq", value: "00:02:AA:BB" }), "0002aabb")
    assert.strictEqual(value({ field: "server_ip", op: "eq", value: "2001:DB8:0::1" }), "2001:db8::1")
    assert.strictEqual(value({ field: "server_ip", op: "cidr", value: "192.0.2.77/24" }), "192.0.2.0/24")
    assert.strictEqual(
      value({ field: "event_time", op: "gt", value: "2026-01-31T09:00:00+01:00" }),
      "2026-01-31T08:00:00.000Z"
    )
    assert.strictEqual(value({ field: "protocol", op: "eq", value: "DHCPv4" }), "dhcpv4")
    assert.deepStrictEqual(value({ field: "client_mac", op: "in", values: ["02BD00000001", "02:bd:00:00:00:01"] }), [
      "02:bd:00:00:00:01"
    ])
    assert.strictEqual(value({ field: "duid", op: "exists" }), true)
  })

  it("refuses each violation at its place", () => {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [{ field: "nope", op: "eq", value: "x" }, "/field"],
      [{ field: "__proto__", op: "eq", value: "x" }, "/field"],
      [{ field: "toString", op: "eq", value: "x" }, "/field"],
      [{ op: "eq", value: "x" }, "/field"],
      [{ field: "hostname", value: "x" }, "/op"],
      [{ field: "hostname", op: "gt", value: "x" }, "/op"],
      [{ field: "hostname", op: "oui", value: "00:0c:01" }, "/op"],
      [{ field: "iaid", op: "contains", value: 1 }, "/op"],
      [{ field: "hostname", op: "eq" }, "/value"],
      [{ field: "hostname", op: "eq", value: 1 }, "/value"],
      [{ field: "hostname", op: "eq", value: "" }, "/value"],
      [{ field: "hostname", op: "eq", value: null }, "/value"],
      [{ field: "hostname", op: "eq", value: "a\0" }, "/value"],
      [{ field: "hostname", op: "eq", value: "\ud800" }, "/value"],
      [{ field: "hostname", op: "eq", value: "x".repeat(1025) }, "/value"],
      [{ field: "hostname", op: "eq", value: "x", values: ["x"] }, "/values"],
      [{ field: "hostname", op: "in", value: "x" }, "/value"],
      [{ field: "hostname", op: "in" }, "/values"],
      [{ field: "hostname", op: "in", values: "x" }, "/values"],
      [{ field: "hostname", op: "in", values: [] }, "/values"],
      [{ field: "hostname", op: "in", values: Array(1001).fill("x") }, "/values"],
      [{ field: "hostname", op: "in", values: ["x", 2] }, "/values/1"],
      [{ field: "hostname", op: "exists", value: "true" }, "/value"],
      [{ field: "hostname", op: "exists", values: [true] }, "/values"],
      [{ field: "hostname", op: "eq", value: "x", negate: 1 }, "/negate"],
      [{ field: "hostname", op: "eq", value: "x", extra: 1 }, "/extra"],
      [{ field: "hostname", op: "regex", value: "x".repeat(257) }, "/value"],
      [{ field: "hostname", op: "regex", value: "(a" }, "/value"],
      [{ field: "hostname", op: "regex", value: "(a)\\1" }, "/value"],
      [{ field: "hostname", op: "regex", value: "a(?=b)" }, "/value"],
      [{ field: "hostname", op: "regex", value: "\\\\\\pL" }, "/value"],
      [{ field: "hostname", op: "regex", value: "a{1000}" }, "/value"],
      [{ field: "protocol", op: "eq", value: "dhcp" }, "/value"],
      [{ field: "client_mac", op: "eq", value: "02:bd" }, "/value"],
      [{ field: "client_mac", op: "contains", value: "xyz" }, "/value"],
      [{ field: "client_mac", op: "oui", value: "00:0c" }, "/value"],
      [{ field: "client_mac", op: "oui", value: "00:0c:01", values: ["00:0c:01"] }, "/values"],
      [{ field: "client_mac", op: "oui" }, "/value"],
      [{ field: "duid", op: "contains", value: "::" }, "/value"],
      [{ field: "server_ip", op: "eq", value: "192.0.2" }, "/value"],
      [{ field: "server_ip", op: "eq", value: "0.0.0.0" }, "/value"],
      [{ field: "server_ip", op: "cidr", values: ["192.0.2.0/33"] }, "/values/0"],
      [{ field: "iaid", op: "eq", value: "1" }, "/value"],
      [{ field: "iaid", op: "eq", value: 2 ** 53 }, "/value"],
      [{ field: "iaid", op: "between", values: [1] }, "/values"],
      [{ field: "iaid", op: "between", values: [2, 1] }, "/values"],
      [{ field: "iaid", op: "between", value: 1 }, "/value"],
      [{ field: "event_time", op: "gt", value: "yesterday" }, "/value"],
      [{ field: "event_time", op: "gt", value: "1969-12-31T23:59:59Z" }, "/value"],
      ["hostname", ""],
      [[], ""],
      [null, ""],
      [{}, "/field"],
      [{ match: "all" }, "/rules"],
      [{ match: "none", rules: [{ field: "duid", op: "exists" }] }, "/match"],
      [{ rules: [{ field: "duid", op: "exists" }], negate: true }, "/negate"],
      [{ rules: [] }, "/rules"]
    ]
    for (const [rule, path] of cases) {
      const paths = refused(rule)
      assert.include(paths, `/rules/0${path}`, JSON.stringify(rule).slice(0, 200))
    }
    for (const root of [null, [], "x", 1, undefined, { rules: {} }, { match: "all" }, { rules: [], x: 1 }]) {
      assert.isNotEmpty(refusal(root))
    }
  })

  it("names all problems at once and says what is allowed", () => {
    const problems = refusal({
      match: "some",
      rules: [{ field: "iaid", op: "like", value: 1 }, { rules: [{ field: "protocol", op: "eq", value: "bootp" }] }]
    })
    assert.deepStrictEqual(problems, {
      "/match": "Expected all or any",
      "/rules/0/op": "Expected one of the ops of iaid: eq, ne, in, not_in, gt, gte, lt, lte, between, exists",
      "/rules/1/rules/0/value": "Expected one of dhcpv4, dhcpv6"
    })
  })

  it("counts the rules of all groups and the levels of groups", () => {
    const rules = (count: number) => Array.from({ length: count }, () => ({ field: "hostname", op: "exists" }))
    const halves = (count: number) => ({ rules: [{ rules: rules(25) }, { rules: rules(count) }] })
    assert.isTrue(Either.isRight(decode({ rules: rules(50) })))
    assert.deepStrictEqual(Object.keys(refusal({ rules: rules(51) })), ["/rules"])
    assert.isTrue(Either.isRight(decode(halves(25))))
    assert.deepStrictEqual(Object.keys(refusal(halves(26))), ["/rules/1/rules/25"])
    assert.isTrue(Either.isRight(decode(nest(4))))
    assert.deepStrictEqual(Object.keys(refusal(nest(5))), ["/rules/0/rules/0/rules/0/rules/0"])
  })

  it("bounds its work on hostile input", () => {
    const before = process.cpuUsage()
    assert.isNotEmpty(refusal(nest(50_000)))
    assert.isNotEmpty(refusal({ rules: Array(1_000_000).fill({ rules: [] }) }))
    assert.isNotEmpty(refusal({ rules: [{ field: "hostname", op: "in", values: Array(1_000_000).fill("x") }] }))
    const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]))
    assert.strictEqual(Object.keys(refusal({ ...keys, rules: [] })).length, 1000)
    const polluted = JSON.parse(`{"rules":[],"__proto__":{"match":"any"},"constructor":{}}`)
    assert.deepStrictEqual(Object.keys(refusal(polluted)), ["/__proto__", "/constructor"])
    assert.isBelow(process.cpuUsage(before).user, 2_000_000)
  })

  it("never throws, whatever it is given", () => {
    fc.assert(fc.property(fc.jsonValue(), (json) => {
      decode(json)
      decode({ rules: [json] })
      decode({ rules: [{ field: "hostname", op: "in", values: json }] })
    }))
  })

  it("refuses an empty filter where one criterion is needed", () => {
    const NonEmpty = Filter("Criteria", { hostname: "text" }, { nonEmpty: true })
    assert.deepStrictEqual(Object.keys(refusal({ rules: [] }, NonEmpty)), ["/rules"])
    assert.deepStrictEqual(refusal({ rules: [{ field: "hostname", op: "exists" }] }, NonEmpty), {})
    assert.isTrue(Either.isRight(decode({ rules: [] })))
  })

  it("is documented by a finite schema that refers to itself", () => {
    const group = HttpApiGroup.make("filters").add(HttpApiEndpoint.put("update", "/").setPayload(DhcpEventFilter))
    const { components } = OpenApi.fromApi(HttpApi.make("api").add(group))
    assert.containsAllKeys(components.schemas, ["DhcpEventFilter", "DhcpEventFilterGroup", "DhcpEventFilterRule"])
    const text = JSON.stringify(components.schemas)
    assert.include(text, "\"$ref\":\"#/components/schemas/DhcpEventFilterGroup\"")
    assert.isBelow(text.length, 20_000)
    const defs = JSON.stringify(JSONSchema.make(DhcpEventFilter).$defs)
    for (const field of Object.keys(dhcpEventFilterFields)) assert.include(defs, `"${field}"`)
  })
})
