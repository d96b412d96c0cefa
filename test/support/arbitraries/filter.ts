import { FastCheck as fc, Schema } from "effect"
import type { FilterJson, FilterRuleJson } from "../../../src/schema/Filter.ts"
import { DhcpEventFilter, dhcpEventFilterFields } from "../../../src/schema/FilterFields.ts"
import { arityOf, type FieldKind, filterLimits, type FilterOp, kindName, opsOf } from "../../../src/schema/FilterOps.ts"
import { duid, instant, ip, mac, text, uint32 } from "./dhcpEvent.ts"

const partOf = (whole: fc.Arbitrary<string>) =>
  fc.tuple(whole, fc.nat(20), fc.integer({ min: 1, max: 6 })).map(([value, start, length]) => {
    const characters = [...value]
    const from = start % Math.max(1, characters.length)
    return characters.slice(from, from + length).join("")
  })

const loud = (arbitrary: fc.Arbitrary<string>) =>
  fc.tuple(arbitrary, fc.boolean()).map(([value, upper]) =>
    upper ? value.replace(/[a-z]/g, (c) => c.toUpperCase()) : value
  )

const otherNotation = (arbitrary: fc.Arbitrary<string>) =>
  fc.tuple(arbitrary, fc.constantFrom(":", "-", "")).map(([value, separator]) => value.replaceAll(":", separator))

const quoted = (value: string) => value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
const atom = fc.oneof(
  { weight: 3, arbitrary: partOf(text).filter((part) => part !== "").map((part) => `(?:${quoted(part)})`) },
  { weight: 2, arbitrary: fc.constantFrom(".", "\\w", "\\d", "\\s", "[a-f]", "[^a-z]", "[[:upper:]]", "[À-ÿ]", "\\W") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("^", "$", "\\b", "(?i)", "(?-s)", "(?m)^", "\\x{e9}", "(?:)", "\\\\", "(a|É|0)")
  }
)
const piece = fc.tuple(atom, fc.constantFrom("", "", "", "+", "*", "?", "{1,2}")).map(([base, repeat]) =>
  /^\(\?[-a-z]+\)|^\^|^\$$|^\\b$/.test(base) ? base : base + repeat
)
export const regex = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 3 }), fc.array(piece, { maxLength: 2 }))
  .map(([left, right]) => right.length === 0 ? left.join("") : `${left.join("")}|${right.join("")}`)
  .filter((pattern) => pattern.length <= filterLimits.regex)

const wholeOf = (kind: FieldKind): fc.Arbitrary<string> => {
  if (typeof kind !== "string") return loud(fc.constantFrom(...kind.enum))
  switch (kind) {
    case "mac":
      return loud(otherNotation(mac))
    case "duid":
      return loud(duid)
    case "client":
      return loud(fc.oneof(mac, duid))
    default:
      return loud(text)
  }
}

const textual = (kind: FieldKind, op: FilterOp): fc.Arbitrary<string> => {
  if (op === "regex") return regex
  if (op === "oui") return loud(otherNotation(fc.constantFrom("02:bd:00", "00:0c:01", "aa:bb:cc", "11:22:33")))
  return op === "contains" || op === "starts_with" || op === "ends_with" ? partOf(wholeOf(kind)) : wholeOf(kind)
}

const cidr = fc.oneof(
  fc.tuple(fc.constantFrom("192.0.2.1", "10.0.0.0", "0.0.0.0", "255.255.255.255"), fc.integer({ min: 0, max: 32 })),
  fc.tuple(
    fc.constantFrom("::", "2001:db8::1", "fe80::", "::fffe:0:0", "ffff::", "::102:304"),
    fc.oneof(fc.integer({ min: 0, max: 128 }), fc.integer({ min: 78, max: 98 }))
  )
).map(([address, prefix]) => `${address}/${prefix}`)

const valueOf = (kind: FieldKind, op: FilterOp): fc.Arbitrary<string | number> => {
  switch (kind) {
    case "number":
      return fc.oneof(uint32, fc.constantFrom(-1, 0.5, 60.5, 2 ** 53 - 1))
    case "time":
      return fc.oneof(
        instant,
        fc.constantFrom("1970-01-01T00:00:00.000Z", "2096-01-31T09:00:00.0019+01:00", "2096-01-31t08:00:00z")
      )
    case "ip":
      return op === "cidr" ? cidr : loud(ip)
    default:
      return textual(kind, op).filter((value) => value !== "")
  }
}

const fields = Object.entries<FieldKind>(dhcpEventFilterFields)
const decode = Schema.decodeUnknownOption(DhcpEventFilter)

const valuesOf = (kind: FieldKind, op: FilterOp): fc.Arbitrary<Omit<FilterRuleJson, "field" | "op">> => {
  if (op === "exists") return fc.option(fc.boolean()).map((value) => value === null ? {} : { value })
  const value = valueOf(kind, op)
  const one = value.map((single) => ({ value: single }))
  const many = fc.array(value, { minLength: 1, maxLength: 5 }).map((values) => ({ values }))
  switch (arityOf(op)) {
    case "one":
      return one
    case "many":
      return many
    case "either":
      return fc.oneof(one, many)
    case "pair":
      return fc.tuple(value, value).map(([a, b]) => ({ values: a <= b ? [a, b] : [b, a] }))
  }
}

/** Rules as users may write them, the refused ones left out. */
export const ruleJson: fc.Arbitrary<FilterRuleJson> = fc.constantFrom(...fields).chain(([field, kind]) =>
  fc.constantFrom(...opsOf[kindName(kind)]).chain((op) =>
    fc.tuple(valuesOf(kind, op), fc.option(fc.boolean())).map(([values, negate]) => ({
      field,
      op,
      ...values,
      ...(negate === null ? {} : { negate })
    }))
  )
).filter((rule) => decode({ rules: [rule] })._tag === "Some")

const groupJson = (depth: number, least: number): fc.Arbitrary<FilterJson> =>
  fc.record({
    match: fc.constantFrom("all" as const, "any" as const),
    rules: fc.array(
      depth === 1
        ? ruleJson
        : fc.oneof({ weight: 3, arbitrary: ruleJson }, { weight: 1, arbitrary: groupJson(depth - 1, 1) }),
      { minLength: least, maxLength: 3 }
    )
  }, { requiredKeys: ["rules"] })

export const filterJson = groupJson(filterLimits.depth, 0)
