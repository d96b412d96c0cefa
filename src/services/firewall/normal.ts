import { declarations, type Declared, isJson, type Json, tableOf } from "./commands.ts"

const counted = ["packets", "bytes", "used", "handle", "expires"]

const shortest = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shortest)
  if (!isJson(value)) return typeof value === "string" && /^[0-9a-fA-F:]{2,}$/.test(value) ? value.toLowerCase() : value
  const entries = Object.entries(value)
  const [only] = entries
  // {elem: {val}} without more says val; a set of one is its element.
  if (entries.length === 1 && only?.[0] === "elem" && isJson(only[1]) && Object.keys(only[1]).join() === "val") {
    return shortest(only[1]["val"])
  }
  if (entries.length === 1 && only?.[0] === "set" && Array.isArray(only[1])) {
    return { set: only[1].map(shortest).sort(byText) }
  }
  return Object.fromEntries(
    entries
      .filter(([key, inner]) => !counted.includes(key) && inner !== undefined)
      .map(([key, inner]): [string, unknown] => [key, shortest(inner)])
      .sort(([a], [b]) => a < b ? -1 : 1)
  )
}

const byText = (a: unknown, b: unknown) => {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

const withoutEmptyCounter = (statement: unknown) =>
  isJson(statement) && isJson(statement["counter"]) && Object.keys(statement["counter"]).length === 0
    ? { counter: null }
    : statement

const definition = ({ body, kind }: Declared): Json => {
  const { comment: _comment, elem: _elem, family: _family, name: _name, table: _table, ...rest } = body
  const filled = kind === "chain" && rest["hook"] !== undefined ? { policy: "accept", ...rest } : rest
  const flags = filled["flags"]
  const sorted = Array.isArray(flags) && flags.length > 0 ? [...flags].sort() : undefined
  return shortest(Array.isArray(flags) ? { ...filled, flags: sorted } : filled) as Json
}

/** A ruleset or a listing in the form in which two of them are compared, by path; rules by their place in the chain. */
export interface NormalTable {
  /** `chain input`, `set blocked`, `counter k`… and what defines it. */
  readonly parts: ReadonlyMap<string, unknown>
  /** By chain, in order. */
  readonly rules: ReadonlyMap<string, ReadonlyArray<unknown>>
  /** By set: the elements as they stand there. Sets that packets change or that forget are left out. */
  readonly elements: ReadonlyMap<string, ReadonlyArray<unknown>>
}

/** An element as a canonical text. */
export const elementText = (element: unknown): string =>
  typeof element === "string" ? element.toLowerCase() : JSON.stringify(shortest(element))

const changesByItself = (body: Json) =>
  ["dynamic", "timeout"].some((flag) =>
    Array.isArray(body["flags"]) ? body["flags"].includes(flag) : body["flags"] === flag
  ) ||
  body["timeout"] !== undefined

const listOf = (value: unknown): ReadonlyArray<unknown> =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

/** The tables of a ruleset or of a listing, normalised: what nft counts, numbers and orders by itself is gone. */
export const normalTables = (commands: ReadonlyArray<unknown>): ReadonlyMap<string, NormalTable> => {
  const tables = new Map<string, {
    readonly parts: Map<string, unknown>
    readonly rules: Map<string, Array<unknown>>
    readonly elements: Map<string, ReadonlyArray<unknown>>
    readonly moving: Set<string>
  }>()
  for (const object of declarations(commands)) {
    const key = tableOf(object)
    const table = tables.get(key) ?? { parts: new Map(), rules: new Map(), elements: new Map(), moving: new Set() }
    tables.set(key, table)
    const { body, kind } = object
    const name = String(body["name"])
    if (kind === "table") continue
    if (kind === "rule") {
      const chain = String(body["chain"])
      const rules = table.rules.get(chain) ?? []
      table.rules.set(chain, rules)
      rules.push(
        shortest({ expr: listOf(body["expr"]).map(shortest).map(withoutEmptyCounter), comment: body["comment"] })
      )
      continue
    }
    if (kind !== "element") {
      const path = `${kind} ${name}`
      table.parts.set(path, { ...table.parts.get(path) as object | undefined, ...definition(object) })
    }
    if (kind === "set" || kind === "map" || kind === "element") {
      if (kind !== "element" && changesByItself(body)) table.moving.add(name)
      if (table.moving.has(name)) continue
      const [before, more] = [table.elements.get(name) ?? [], listOf(body["elem"])]
      table.elements.set(name, before.length === 0 ? more : [...before, ...more])
    }
  }
  return tables
}
