import { isDeepStrictEqual } from "node:util"
import type { FirewallChange, FirewallDiff } from "../../schema/FirewallConfig.ts"
import { tablesOf } from "./commands.ts"
import { elementText, type NormalTable, normalTables } from "./normal.ts"

/** Most changes that a diff lists; it counts all of them. */
const changesMax = 200

class Tally {
  readonly counts = { add: 0, remove: 0, change: 0 }
  readonly changes: Array<FirewallChange> = []

  note(change: FirewallChange) {
    this.count(change.op, () => change)
  }

  count(op: FirewallChange["op"], change: () => Omit<FirewallChange, "op">) {
    this.counts[op]++
    if (this.changes.length < changesMax) this.changes.push({ op, ...change() })
  }
}

const nothing: NormalTable = { parts: new Map(), rules: new Map(), elements: new Map() }

const parts = (tally: Tally, table: string, before: NormalTable, after: NormalTable) => {
  for (const path of new Set([...before.parts.keys(), ...after.parts.keys()])) {
    const [was, is] = [before.parts.get(path), after.parts.get(path)]
    if (was === undefined) tally.note({ op: "add", table, path, after: is })
    else if (is === undefined) tally.note({ op: "remove", table, path, before: was })
    else if (!isDeepStrictEqual(was, is)) tally.note({ op: "change", table, path, before: was, after: is })
  }
}

/** Rules that both chains begin or end with stay; what lies between is taken away and added. */
const rules = (tally: Tally, table: string, before: NormalTable, after: NormalTable) => {
  for (const chain of new Set([...before.rules.keys(), ...after.rules.keys()])) {
    const [was, is] = [before.rules.get(chain) ?? [], after.rules.get(chain) ?? []]
    const same = (i: number, j: number) => isDeepStrictEqual(was[i], is[j])
    let head = 0
    while (head < was.length && head < is.length && same(head, head)) head++
    let tail = 0
    while (
      tail < was.length - head && tail < is.length - head && same(was.length - 1 - tail, is.length - 1 - tail)
    ) tail++
    const path = (index: number) => `rule ${chain} ${index + 1}`
    was.slice(head, was.length - tail).forEach((rule, i) =>
      tally.note({ op: "remove", table, path: path(head + i), before: rule })
    )
    is.slice(head, is.length - tail).forEach((rule, i) =>
      tally.note({ op: "add", table, path: path(head + i), after: rule })
    )
  }
}

const texts = (elements: ReadonlyArray<unknown>): ReadonlySet<string> => new Set(elements.map(elementText))

const elements = (tally: Tally, table: string, before: NormalTable, after: NormalTable) => {
  for (const set of new Set([...before.elements.keys(), ...after.elements.keys()])) {
    const [was, is] = [before.elements.get(set) ?? [], after.elements.get(set) ?? []]
    const path = (element: string) => `element ${set} ${element}`
    // A set that is all new, or all gone, needs no search: there may be hundreds of thousands.
    if (was.length === 0 || is.length === 0) {
      for (const element of is) tally.count("add", () => ({ table, path: path(elementText(element)) }))
      for (const element of was) tally.count("remove", () => ({ table, path: path(elementText(element)) }))
      continue
    }
    const [old, next] = [texts(was), texts(is)]
    for (const element of old) if (!next.has(element)) tally.count("remove", () => ({ table, path: path(element) }))
    for (const element of next) if (!old.has(element)) tally.count("add", () => ({ table, path: path(element) }))
  }
}

/**
 * What makes `tables` differ between two rulesets or listings, by meaning: handles, counted values, the order of
 * elements and the elements of sets that change by themselves are no difference.
 */
export const difference = (
  before: ReadonlyArray<unknown>,
  after: ReadonlyArray<unknown>,
  tables: ReadonlyArray<string>,
  compareElements = true
): FirewallDiff => {
  const tally = new Tally()
  const [old, next] = [normalTables(before), normalTables(after)]
  for (const table of tables) {
    const [was, is] = [old.get(table), next.get(table)]
    if (was === undefined && is !== undefined) tally.note({ op: "add", table, path: "table" })
    if (was !== undefined && is === undefined) tally.note({ op: "remove", table, path: "table" })
    parts(tally, table, was ?? nothing, is ?? nothing)
    rules(tally, table, was ?? nothing, is ?? nothing)
    if (compareElements) elements(tally, table, was ?? nothing, is ?? nothing)
  }
  const { add, change, remove } = tally.counts
  return {
    identical: add + change + remove === 0,
    added: add,
    removed: remove,
    changed: change,
    changes: tally.changes
  }
}

/** Whether two listings have the same tables, chains, sets and numbers of rules: what a terse listing can prove. */
export const sameStructure = (
  declared: ReadonlyArray<unknown>,
  listed: ReadonlyArray<unknown>
): boolean => {
  const [wanted, found] = [normalTables(declared), normalTables(listed)]
  return tablesOf(declared).every((table) => {
    const [is, was] = [found.get(table), wanted.get(table) ?? nothing]
    return is !== undefined &&
      isDeepStrictEqual(new Set(was.parts.keys()), new Set(is.parts.keys())) &&
      [...was.rules].every(([chain, rules]) => is.rules.get(chain)?.length === rules.length)
  })
}
