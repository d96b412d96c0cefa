import { asciiLower } from "../../schema/Ascii.ts"
import type { FilterGroup, FilterRule, IpRule, NumberRule, TextRule, TimeRule } from "../../schema/Filter.ts"
import { inRange, ipOctets, parseCidr } from "../../schema/Ip.ts"
import { sqlIp, type SqlParams, sqlTime } from "./SqlParams.ts"

/**
 * Where a field is: a column or an expression over columns, never user input, and how it holds what is absent.
 * `string`: ''; `ipv6`: '::', IPv4 v4-mapped; `nullable_number`: NULL; `number`, `time` (DateTime64(3)) and `enum`
 * (Enum8 or Enum16) always hold a value.
 */
export interface FilterColumn {
  readonly sql: string
  readonly storage: "string" | "enum" | "ipv6" | "number" | "nullable_number" | "time"
}
export type FilterColumns<Field extends string> = { readonly [F in Field]: FilterColumn }

const exists = ({ sql, storage }: FilterColumn): string => {
  switch (storage) {
    case "string":
      return `${sql} != ''`
    case "ipv6":
      return `${sql} != toIPv6('::')`
    case "nullable_number":
      return `${sql} IS NOT NULL`
    default:
      return "true"
  }
}

const textMatches = ({ kind, op, values }: TextRule, column: FilterColumn, params: SqlParams): string => {
  const text = column.storage === "enum" ? `toString(${column.sql})` : column.sql
  const folded = kind === "text" || kind === "enum"
  const haystack = folded ? `lower(${text})` : text
  const wanted = () => params.bind("String", folded ? asciiLower(values[0]!) : values[0]!)
  switch (op) {
    case "eq":
    case "ne":
      return kind === "enum" ? `${column.sql} = ${params.bind("String", values[0]!)}` : `${haystack} = ${wanted()}`
    case "in":
    case "not_in":
      return kind === "enum"
        ? `${column.sql} IN ${params.bind("Array(String)", values)}`
        : `${haystack} IN ${params.bind("Array(String)", folded ? values.map(asciiLower) : values)}`
    case "contains":
      return `position(${haystack}, ${wanted()}) > 0`
    case "starts_with":
      return `startsWith(${haystack}, ${wanted()})`
    case "ends_with":
      return `endsWith(${haystack}, ${wanted()})`
    case "oui":
      return `substring(${text}, 1, 8) IN ${params.bind("Array(String)", values)}`
    case "regex": {
      const matched = `match(${text}, ${params.bind("String", values[0]!)})`
      return column.storage === "string" ? `${exists(column)} AND ${matched}` : matched
    }
  }
}

const orderMatches = (rule: NumberRule | TimeRule, column: FilterColumn, params: SqlParams): string => {
  const bind = (index: number) =>
    rule._tag === "Number"
      ? params.bind("Float64", rule.values[index]!)
      : params.bind("DateTime64(3, 'UTC')", sqlTime(rule.values[index]!))
  const compared = () => {
    switch (rule.op) {
      case "eq":
      case "ne":
        return `${column.sql} = ${bind(0)}`
      case "in":
      case "not_in":
        return rule._tag === "Number"
          ? `has(${params.bind("Array(Float64)", rule.values)}, toFloat64(${column.sql}))`
          : `${column.sql} IN ${params.bind("Array(DateTime64(3, 'UTC'))", rule.values.map(sqlTime))}`
      case "gt":
        return `${column.sql} > ${bind(0)}`
      case "gte":
        return `${column.sql} >= ${bind(0)}`
      case "lt":
        return `${column.sql} < ${bind(0)}`
      case "lte":
        return `${column.sql} <= ${bind(0)}`
      case "between":
        return `${column.sql} BETWEEN ${bind(0)} AND ${bind(1)}`
    }
  }
  return column.storage === "nullable_number" ? `ifNull(${compared()}, false)` : compared()
}

const notMapped = (sql: string): string =>
  `NOT (${sql} BETWEEN toIPv6('::ffff:0.0.0.0') AND toIPv6('::ffff:255.255.255.255'))`
const mappedOctets = ipOctets("0.0.0.0")!

const ipv6Text = (octets: ReadonlyArray<number>): string =>
  Array.from({ length: 8 }, (_, i) => (octets[2 * i]! * 256 + octets[2 * i + 1]!).toString(16)).join(":")

const isIn = (cidr: string, column: FilterColumn, params: SqlParams): string => {
  const range = parseCidr(cidr)!
  const low = params.bind("IPv6", ipv6Text(range.first))
  const within = [`${column.sql} BETWEEN ${low} AND ${params.bind("IPv6", ipv6Text(range.last))}`]
  // as stored, absent addresses and those of IPv4 lie within short IPv6 networks
  if (cidr.startsWith("::/")) within.push(exists(column))
  if (cidr.includes(":") && inRange(range, mappedOctets)) within.push(notMapped(column.sql))
  return within.join(" AND ")
}

const ipMatches = ({ op, values }: IpRule, column: FilterColumn, params: SqlParams): string => {
  switch (op) {
    case "eq":
    case "ne":
      return `${column.sql} = ${params.bind("IPv6", sqlIp(values[0]!))}`
    case "in":
    case "not_in":
      return `${column.sql} IN ${params.bind("Array(IPv6)", values.map(sqlIp))}`
    case "cidr":
      return values.map((cidr) => `(${isIn(cidr, column, params)})`).join(" OR ")
  }
}

const ruleMatches = (rule: FilterRule, column: FilterColumn, params: SqlParams): string => {
  switch (rule._tag) {
    case "Exists":
      return exists(column)
    case "Text":
      return textMatches(rule, column, params)
    case "Ip":
      return ipMatches(rule, column, params)
    case "Number":
    case "Time":
      return orderMatches(rule, column, params)
  }
}

const compileRule = (rule: FilterRule, column: FilterColumn, params: SqlParams): string => {
  const inverse = rule.op === "ne" || rule.op === "not_in" || (rule._tag === "Exists" && !rule.values[0])
  const matches = ruleMatches(rule, column, params)
  return inverse !== rule.negate ? `NOT (${matches})` : `(${matches})`
}

/**
 * A boolean expression, in parentheses and never NULL, that holds for the rows that match the filter: `(true)` for an
 * empty one. All values of the filter are bound in `params`; the text is made of columns and constants alone.
 */
export const compileFilterSql = <Field extends string>(
  filter: FilterGroup<Field>,
  columns: FilterColumns<Field>,
  params: SqlParams
): string => {
  const members = filter.rules.map((member) =>
    member._tag === "Group"
      ? compileFilterSql(member, columns, params)
      : compileRule(member, columns[member.field], params)
  )
  return members.length === 0 ? "(true)" : `(${members.join(filter.match === "all" ? " AND " : " OR ")})`
}
