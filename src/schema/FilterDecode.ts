import type { FilterGroup, FilterMatch, FilterRule } from "./Filter.ts"
import { arityOf, type FieldTable, filterLimits, type FilterOp, kindName, opsOf } from "./FilterOps.ts"
import { canonicalValue } from "./FilterValue.ts"

/** One problem of a filter: where it is, from the filter's root, and what was expected there. */
export interface FilterProblem {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
  readonly actual: unknown
}

interface State {
  readonly fields: FieldTable
  readonly fieldNames: string
  readonly problems: Array<FilterProblem>
  rules: number
}

type Path = ReadonlyArray<PropertyKey>
type Json = Readonly<Record<string, unknown>>

const isObject = (input: unknown): input is Json => typeof input === "object" && input !== null && !Array.isArray(input)

const own = (object: Json, key: string): unknown => Object.hasOwn(object, key) ? object[key] : undefined

const report = (state: State, path: Path, message: string, actual: unknown): void => {
  if (state.problems.length < filterLimits.issues) state.problems.push({ path, message, actual })
}

const groupKeys = ["match", "rules"]
const ruleKeys = ["field", "op", "value", "values", "negate"]

const refuseOtherKeys = (state: State, input: Json, known: ReadonlyArray<string>, path: Path): void => {
  for (const key of Object.keys(input)) {
    if (known.includes(key)) continue
    if (state.problems.length >= filterLimits.issues) return
    report(state, [...path, key], `Unexpected key, expected one of ${known.join(", ")}`, input[key])
  }
}

const readList = (state: State, rule: Pick<RuleHead, "kind" | "op">, input: unknown, path: Path) => {
  if (!Array.isArray(input)) {
    report(state, path, "Expected an array", input)
    return undefined
  }
  const pair = arityOf(rule.op) === "pair"
  if (pair && input.length !== 2) {
    report(state, path, "Expected two values: the least and the greatest", input)
    return undefined
  }
  if (input.length === 0 || input.length > filterLimits.values) {
    report(state, path, `Expected 1 to ${filterLimits.values} values`, input)
    return undefined
  }
  const values = input.map((value, index) => readValue(state, rule, value, [...path, index]))
  if (values.includes(undefined)) return undefined
  if (pair && values[0]! > values[1]!) {
    report(state, path, "Expected the least value first", input)
    return undefined
  }
  return pair ? values : [...new Set(values)]
}

const readValue = (state: State, { kind, op }: Pick<RuleHead, "kind" | "op">, input: unknown, path: Path) => {
  const result = canonicalValue(kind, op, input)
  if (result.ok) return result.value
  report(state, path, result.expected, input)
  return undefined
}

interface RuleHead {
  readonly field: string
  readonly kind: FieldTable[string]
  readonly op: FilterOp
}

const readValues = (state: State, head: RuleHead, input: Json, path: Path) => {
  const { op } = head
  const value = own(input, "value")
  const values = own(input, "values")
  const arity = arityOf(op)
  if (arity === "either" && value !== undefined && values !== undefined) {
    report(state, [...path, "values"], `${op} takes either value or values`, values)
    return undefined
  }
  const takesList = arity === "many" || arity === "pair" || (arity === "either" && values !== undefined)
  const [key, other] = takesList ? ["values", "value"] as const : ["value", "values"] as const
  if (own(input, other) !== undefined) {
    report(state, [...path, other], `${op} takes ${key}, not ${other}`, input[other])
    if (own(input, key) === undefined) return undefined
  }
  if (takesList && values !== undefined) return readList(state, head, values, [...path, "values"])
  const given = op === "exists" && value === undefined ? true : value
  if (takesList || given === undefined) {
    report(state, [...path, key], `${op} needs ${arity === "either" ? "value or values" : key}`, undefined)
    return undefined
  }
  const read = readValue(state, head, given, [...path, "value"])
  return read === undefined ? undefined : [read]
}

const readHead = (state: State, input: Json, path: Path): RuleHead | undefined => {
  const field = own(input, "field")
  if (typeof field !== "string" || !Object.hasOwn(state.fields, field)) {
    report(state, [...path, "field"], `Expected one of the fields ${state.fieldNames}`, field)
    return undefined
  }
  const kind = state.fields[field]!
  const ops = opsOf[kindName(kind)]
  const op = own(input, "op") as FilterOp
  if (!ops.includes(op)) {
    report(state, [...path, "op"], `Expected one of the ops of ${field}: ${ops.join(", ")}`, op)
    return undefined
  }
  return { field, kind, op }
}

const tagOf = {
  time: "Time",
  number: "Number",
  ip: "Ip",
  mac: "Text",
  duid: "Text",
  client: "Text",
  text: "Text"
} as const

const readRule = (state: State, input: Json, path: Path): FilterRule | undefined => {
  refuseOtherKeys(state, input, ruleKeys, path)
  const negate = own(input, "negate") ?? false
  if (typeof negate !== "boolean") report(state, [...path, "negate"], "Expected true or false", negate)
  const head = readHead(state, input, path)
  const values = head && readValues(state, head, input, path)
  if (head === undefined || values === undefined) return undefined
  const name = kindName(head.kind)
  const _tag = head.op === "exists" ? "Exists" : name === "enum" ? "Text" : tagOf[name]
  // the kind's ops and canonicalValue have fixed the types of op and values to those of the tag
  return { _tag, field: head.field, kind: name, op: head.op, values, negate } as unknown as FilterRule
}

const readMember = (state: State, input: unknown, path: Path, depth: number) => {
  if (!isObject(input)) {
    report(state, path, "Expected a rule with field and op or a group with match and rules", input)
    return undefined
  }
  const isGroup = Object.hasOwn(input, "rules") || (Object.hasOwn(input, "match") && !Object.hasOwn(input, "field"))
  if (isGroup) return readGroup(state, input, path, depth + 1)
  state.rules++
  if (state.rules > filterLimits.rules) {
    if (state.rules === filterLimits.rules + 1) {
      report(state, path, `Expected at most ${filterLimits.rules} rules in all`, input)
    }
    return undefined
  }
  return readRule(state, input, path)
}

const readGroup = (state: State, input: Json, path: Path, depth: number): FilterGroup | undefined => {
  if (depth > filterLimits.depth) {
    report(state, path, `Expected groups nested at most ${filterLimits.depth} deep`, input)
    return undefined
  }
  refuseOtherKeys(state, input, groupKeys, path)
  const match = own(input, "match") ?? "all"
  if (match !== "all" && match !== "any") report(state, [...path, "match"], "Expected all or any", match)
  const members = own(input, "rules")
  if (!Array.isArray(members)) {
    report(state, [...path, "rules"], "Expected an array of rules and groups", members)
    return undefined
  }
  if (members.length > filterLimits.rules) {
    report(state, [...path, "rules"], `Expected at most ${filterLimits.rules} rules in all`, members)
    return undefined
  }
  if (members.length === 0 && depth > 1) {
    report(state, [...path, "rules"], "Expected at least one rule in a nested group", members)
    return undefined
  }
  const rules = members.map((member, index) => readMember(state, member, [...path, "rules", index], depth))
    .filter((member) => member !== undefined)
  return { _tag: "Group", match: match as FilterMatch, rules }
}

/** Reads and normalises a filter, or says all that is wrong with it; work and depth are bounded for any input. */
export const readFilter = (
  fields: FieldTable,
  input: unknown,
  nonEmpty: boolean
): FilterGroup | ReadonlyArray<FilterProblem> => {
  if (!isObject(input)) return [{ path: [], message: "Expected an object with match and rules", actual: input }]
  const state: State = { fields, fieldNames: Object.keys(fields).join(", "), problems: [], rules: 0 }
  const group = readGroup(state, input, [], 1)
  if (nonEmpty && group?.rules.length === 0 && state.problems.length === 0) {
    report(state, ["rules"], "Expected at least one rule", group.rules)
  }
  return group === undefined || state.problems.length > 0 ? state.problems : group
}
