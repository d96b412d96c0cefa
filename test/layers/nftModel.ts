import { isDeepStrictEqual } from "node:util"
import {
  addElements,
  defined,
  isJson,
  type Json,
  keyTypes,
  listElement,
  missing,
  type NftSet,
  only,
  refuse,
  removeElements,
  text,
  unmodelled,
  verdicts
} from "./nftElements.ts"

const busy = () => refuse("Could not process rule: Device or resource busy")

interface Rule {
  readonly handle: number
  readonly expr: ReadonlyArray<unknown>
  readonly comment?: unknown
}

interface Chain {
  readonly handle: number
  base: Json | undefined
  rules: Array<Rule>
}

interface Table {
  readonly family: string
  readonly name: string
  readonly handle: number
  readonly chains: Map<string, Chain>
  readonly sets: Map<string, NftSet>
  readonly counters: Map<string, number>
}

/** The ruleset of the model: plain data, cloned for each transaction. */
export interface Model {
  lastHandle: number
  readonly tables: Map<string, Table>
}

export const emptyModel = (): Model => ({ lastHandle: 0, tables: new Map() })

const families = ["inet", "ip", "ip6", "bridge", "arp", "netdev"]

const tableKey = (object: Json, name: unknown) => {
  const family = object["family"] ?? "ip"
  if (!families.includes(String(family))) refuse("Unknown family")
  return { family: String(family), name: text(name, "table"), key: `${String(family)} ${String(name)}` }
}

const tableOf = (model: Model, object: Json): Table => {
  const { key } = tableKey(object, object["table"])
  return model.tables.get(key) ?? missing()
}

/** What the statements of a rule refer to; statements that aren't modelled are refused. */
const references = (expr: ReadonlyArray<unknown>) => {
  const found = { chains: new Array<string>(), sets: new Array<string>(), counters: new Array<string>() }
  for (const statement of expr) {
    if (!isJson(statement) || Object.keys(statement).length !== 1) refuse("A statement has one key")
    const [kind, value] = Object.entries(statement as Json)[0]!
    if (verdicts.includes(kind) && value === null) continue
    else if ((kind === "jump" || kind === "goto") && isJson(value)) found.chains.push(text(value["target"], "target"))
    else if (kind === "counter" && typeof value === "string") found.counters.push(value)
    else if (kind === "counter" && (value === null || isJson(value))) continue
    else if (kind === "match" && isJson(value)) {
      const right = value["right"]
      if (typeof right === "string" && right.startsWith("@")) found.sets.push(right.slice(1))
      else if (typeof right !== "string" && typeof right !== "number") unmodelled("this match")
    } else unmodelled(`statement ${kind}`)
  }
  return found
}

const rulesOf = (table: Table) => [...table.chains.values()].flatMap((chain) => chain.rules)
const isReferred = (table: Table, kind: "chains" | "sets" | "counters", name: string) =>
  rulesOf(table).some((rule) => references(rule.expr)[kind].includes(name))

const reaches = (table: Table, from: string, to: string): boolean =>
  from === to ||
  (table.chains.get(from)?.rules ?? []).some((rule) =>
    references(rule.expr).chains.some((next) => reaches(table, next, to))
  )

const addRule = (model: Model, object: Json, first: boolean) => {
  only(object, "family", "table", "chain", "expr", "comment", "handle")
  const table = tableOf(model, object)
  const name = text(object["chain"], "chain")
  const chain = table.chains.get(name) ?? missing()
  const expr = Array.isArray(object["expr"]) ? object["expr"] as ReadonlyArray<unknown> : refuse("A rule has an expr")
  const refers = references(expr)
  for (const set of refers.sets) if (!table.sets.has(set)) missing()
  for (const counter of refers.counters) if (!table.counters.has(counter)) missing()
  for (const target of refers.chains) {
    const other = table.chains.get(target) ?? missing()
    if (other.base !== undefined) refuse("Could not process rule: Operation not supported")
    if (reaches(table, target, name)) refuse("Could not process rule: Too many links")
  }
  const counted = expr.map((statement) =>
    isJson(statement) && statement["counter"] === null ? { counter: { packets: 0, bytes: 0 } } : statement
  )
  const rule = { handle: ++model.lastHandle, expr: counted, comment: object["comment"] }
  if (first) chain.rules.unshift(rule)
  else chain.rules.push(rule)
}

const addChain = (model: Model, object: Json) => {
  only(object, "family", "table", "name", "type", "hook", "prio", "policy", "handle")
  const table = tableOf(model, object)
  const name = text(object["name"], "chain")
  const { hook, policy, prio, type } = object
  const plain = [type, hook, prio].every((part) => part === undefined)
  if (plain ? policy !== undefined : [type, hook, prio].includes(undefined)) unmodelled("part of a base chain")
  const base = plain ? undefined : { type, hook, prio, policy: policy ?? "accept" }
  const known = table.chains.get(name)
  if (known === undefined) {
    table.chains.set(name, { handle: ++model.lastHandle, base, rules: [] })
  } else if (base !== undefined) {
    if (known.base === undefined || !isDeepStrictEqual({ ...known.base, policy: "" }, { ...base, policy: "" })) {
      refuse("Could not process rule: File exists")
    } else if (policy !== undefined) known.base = base
  }
}

const addSet = (model: Model, kind: "set" | "map", object: Json, nowMs: number) => {
  only(object, "family", "table", "name", "type", "map", "flags", "elem", "handle")
  const table = tableOf(model, object)
  const name = text(object["name"], kind)
  const { flags, map, type } = object
  if (!Object.hasOwn(keyTypes, String(type))) unmodelled(`type ${String(type)}`)
  if (kind === "map" && map !== "verdict" && !Object.hasOwn(keyTypes, String(map))) unmodelled(`map ${String(map)}`)
  if (flags !== undefined && !isDeepStrictEqual(flags, ["timeout"])) unmodelled("flag but timeout")
  const definition = kind === "map" ? { type, map, flags } : { type, flags }
  const known = table.sets.get(name)
  if (known === undefined) table.sets.set(name, { kind, handle: ++model.lastHandle, definition, elements: [] })
  else if (known.kind !== kind || !isDeepStrictEqual(known.definition, definition)) {
    refuse("Could not process rule: File exists")
  }
  if (object["elem"] !== undefined) addElements(table.sets.get(name)!, object["elem"], nowMs)
}

const add = (model: Model, kind: string, object: Json, nowMs: number) => {
  switch (kind) {
    case "table": {
      only(object, "family", "name", "handle")
      const { family, key, name } = tableKey(object, object["name"])
      if (model.tables.has(key)) return
      const parts = { chains: new Map(), sets: new Map(), counters: new Map() }
      model.tables.set(key, { family, name, handle: ++model.lastHandle, ...parts })
      return
    }
    case "chain":
      return addChain(model, object)
    case "set":
    case "map":
      return addSet(model, kind, object, nowMs)
    case "counter": {
      only(object, "family", "table", "name", "packets", "bytes", "handle")
      const { counters } = tableOf(model, object)
      const name = text(object["name"], "counter")
      if (!counters.has(name)) counters.set(name, ++model.lastHandle)
      return
    }
    case "element":
      return addElements(
        tableOf(model, object).sets.get(text(object["name"], "set")) ?? missing(),
        object["elem"],
        nowMs
      )
    case "rule":
      return addRule(model, object, false)
  }
  unmodelled(`add ${kind}`)
}

const remove = (model: Model, kind: string, object: Json, nowMs: number) => {
  if (kind === "table") {
    if (!model.tables.delete(tableKey(object, object["name"]).key)) missing()
    return
  }
  const table = tableOf(model, object)
  if (kind === "rule") {
    const chain = table.chains.get(text(object["chain"], "chain")) ?? missing()
    const at = chain.rules.findIndex((rule) => rule.handle === object["handle"])
    if (at < 0) missing()
    return void chain.rules.splice(at, 1)
  }
  const name = text(object["name"], kind)
  switch (kind) {
    case "chain":
      if (isReferred(table, "chains", name)) busy()
      if (!table.chains.delete(name)) missing()
      return
    case "set":
    case "map":
      if (isReferred(table, "sets", name)) busy()
      if (!table.sets.delete(name)) missing()
      return
    case "counter":
      if (isReferred(table, "counters", name)) busy()
      if (!table.counters.delete(name)) missing()
      return
    case "element":
      return removeElements(table.sets.get(name) ?? missing(), object["elem"], nowMs)
  }
  unmodelled(`delete ${kind}`)
}

const flush = (model: Model, kind: string, object: Json) => {
  switch (kind) {
    case "ruleset":
      if (Object.keys(object).length > 0) unmodelled("flush of one family")
      return model.tables.clear()
    case "table": {
      const table = model.tables.get(tableKey(object, object["name"]).key) ?? missing()
      for (const chain of table.chains.values()) chain.rules = []
      return
    }
    case "chain": {
      const chain = tableOf(model, object).chains.get(text(object["name"], kind)) ?? missing()
      chain.rules = []
      return
    }
    case "set":
    case "map": {
      const set = tableOf(model, object).sets.get(text(object["name"], kind)) ?? missing()
      if (set.kind !== kind) missing()
      set.elements = []
      return
    }
  }
  unmodelled(`flush ${kind}`)
}

const kinds = ["table", "chain", "set", "map", "counter", "element", "rule"]

/** Runs one command on the model in place; throws `Refused`. */
export const execute = (model: Model, command: Json, nowMs: number): void => {
  const [[verb, inner] = ["", undefined], ...rest] = Object.entries(command)
  if (rest.length > 0) refuse("A command has one key")
  const [kind = "", body] = kinds.includes(verb) ? [verb, inner] : isJson(inner) ? Object.entries(inner)[0] ?? [] : []
  const object = isJson(body) ? body : {}
  if (verb === "add" || kinds.includes(verb)) return add(model, kind, object, nowMs)
  if (verb === "insert" && kind === "rule") return addRule(model, object, true)
  if (verb === "delete") return remove(model, kind, object, nowMs)
  if (verb === "flush") return flush(model, kind, object)
  unmodelled(`command ${verb} ${kind}`)
}

/** Drops the elements whose timeout has passed. */
export const expire = (model: Model, nowMs: number): void => {
  for (const table of model.tables.values()) {
    for (const set of table.sets.values()) {
      set.elements = set.elements.filter(({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > nowMs)
    }
  }
}

/** The objects of the ruleset in nft's list order. */
export const listModel = (model: Model, nowMs: number): ReadonlyArray<Json> =>
  [...model.tables.values()].flatMap(({ chains, counters, family, handle, name: table, sets }) => {
    const at = (name: string) => ({ family, name, table })
    return [
      { table: { family, name: table, handle } },
      ...[...counters].map(([name, handle]) => ({ counter: { ...at(name), handle, packets: 0, bytes: 0 } })),
      ...[...sets].map(([name, { definition, elements, handle, kind }]) => {
        const elem = elements.length === 0 ? undefined : elements.map((element) => listElement(element, nowMs))
        return { [kind]: defined({ ...at(name), handle, ...definition, elem }) }
      }),
      ...[...chains].map(([name, { base, handle }]) => ({ chain: { ...at(name), handle, ...base } })),
      ...[...chains].flatMap(([chain, { rules }]) =>
        rules.map(({ comment, expr, handle }) => ({
          rule: defined({ family, table, chain, handle, comment, expr: expr.length === 0 ? undefined : expr })
        }))
      )
    ]
  })
