import { isDeepStrictEqual } from "node:util"
import { declarations, type Declared, isJson, type Json, tableBody, tableOf } from "./commands.ts"

/** One transaction that makes tables what a ruleset declares, and what remains to be done once it is committed. */
export interface Replacement {
  readonly commands: ReadonlyArray<Json>
  /** Index in `commands` of the first of the ruleset's own, which follow in their order. */
  readonly start: number
  /**
   * Base chains that end with a rule of ours: the kernel registers a new base chain as accepting and sets its policy
   * late, so that a drop policy alone lets packets through meanwhile.
   */
  readonly bridged: ReadonlyArray<{ readonly family: string; readonly table: string; readonly chain: string }>
}

/** Marks the rule that bridges the moment until the policy holds. */
export const bridgeComment = "netops: until the policy holds"

interface Parts {
  table: Json
  readonly chains: Map<string, Json>
  readonly sets: Map<string, { readonly kind: string; readonly body: Json }>
  readonly others: Map<string, { readonly kind: string; readonly body: Json }>
}

/** What tables consist of, rules and elements aside; a later declaration adds to an earlier one. */
const partsOf = (objects: ReadonlyArray<Declared>): Map<string, Parts> => {
  const tables = new Map<string, Parts>()
  for (const object of objects) {
    const key = tableOf(object)
    const parts = tables.get(key) ?? { table: {}, chains: new Map(), sets: new Map(), others: new Map() }
    tables.set(key, parts)
    const { body, kind } = object
    const name = String(body["name"])
    if (kind === "table") parts.table = body
    else if (kind === "chain") parts.chains.set(name, { ...parts.chains.get(name), ...body })
    else if (kind === "set" || kind === "map") parts.sets.set(name, { kind, body })
    else if (kind !== "rule" && kind !== "element") parts.others.set(`${kind} ${name}`, { kind, body })
  }
  return tables
}

const baseKeys = ["type", "hook", "prio", "dev"]
const isBase = (chain: Json) => chain["hook"] !== undefined

const sameBase = (running: Json, wanted: Json) => baseKeys.every((key) => isDeepStrictEqual(running[key], wanted[key]))

const unordered = (flags: unknown) => Array.isArray(flags) ? flags.length === 0 ? undefined : [...flags].sort() : flags

const ignored = ["family", "table", "name", "handle", "elem", "comment", "packets", "bytes", "used"]

const sameDefinition = (running: Json, wanted: Json) => {
  const keys = new Set([...Object.keys(running), ...Object.keys(wanted)].filter((key) => !ignored.includes(key)))
  return [...keys].every((key) =>
    isDeepStrictEqual(
      key === "flags" ? unordered(running[key]) : running[key],
      key === "flags" ? unordered(wanted[key]) : wanted[key]
    )
  )
}

/** Whether every part that stays has the kind and the definition that it has now. */
const fits = (running: Parts, wanted: Parts): boolean =>
  wanted.table["flags"] === undefined && running.table["flags"] === undefined &&
  [...running.chains].every(([name, chain]) => {
    const next = wanted.chains.get(name)
    return next === undefined || sameBase(chain, next)
  }) &&
  [...running.sets].every(([name, { body, kind }]) => {
    const next = wanted.sets.get(name)
    return next === undefined || (next.kind === kind && sameDefinition(body, next.body))
  }) &&
  [...running.others].every(([name, { body }]) => {
    const next = wanted.others.get(name)
    return next === undefined || sameDefinition(body, next.body)
  })

const noParts: Parts = { table: {}, chains: new Map(), sets: new Map(), others: new Map() }

/** Whether what is kept of each kind leads in the order that is wanted, so that the rest can follow it. */
const ordered = (running: Parts, wanted: Parts): boolean =>
  (["chains", "sets", "others"] as const).every((kind) => {
    const kept = [...wanted[kind].keys()].map((name) => running[kind].has(name))
    return kept.lastIndexOf(true) === kept.filter((keeps) => keeps).length - 1
  })

/**
 * The base chains that go, before all else of the transaction: a packet that is under way at its commit meets them
 * without rules for as long as what stands before them takes.
 */
const ended = (key: string, running: Parts, wanted: Parts): ReadonlyArray<Json> => {
  const { family, name: table } = tableBody(key)
  const gone = [...running.chains].filter(([name, chain]) => isBase(chain) && !wanted.chains.has(name))
  return gone.flatMap(([name]) => {
    const chain = { family, table, name }
    return [{ flush: { chain } }, { delete: { chain } }]
  })
}

/** Empties a table, keeping what the ruleset declares again as it is now, and removes the rest. */
const emptied = (key: string, { chains, ...rest }: Parts, wanted: Parts): ReadonlyArray<Json> => {
  const running = {
    ...rest,
    chains: new Map([...chains].filter(([name, chain]) => !isBase(chain) || wanted.chains.has(name)))
  }
  const { family, name: table } = tableBody(key)
  const at = (name: string) => ({ family, table, name })
  const gone = <A>(from: ReadonlyMap<string, A>, to: ReadonlyMap<string, unknown>) =>
    [...from].filter(([name]) => !to.has(name))
  return [
    ...[...running.chains.keys()].map((name) => ({ flush: { chain: at(name) } })),
    ...[...running.sets].map(([name, { kind }]) => ({ flush: { [kind]: at(name) } })),
    ...gone(running.chains, wanted.chains).map(([name]) => ({ delete: { chain: at(name) } })),
    ...gone(running.sets, wanted.sets).map(([name, { kind }]) => ({ delete: { [kind]: at(name) } })),
    ...gone(running.others, wanted.others).map(([, { body, kind }]) => ({
      delete: { [kind]: at(String(body["name"])) }
    })),
    // A chain that is added again keeps its policy unless it is told another.
    ...[...wanted.chains].flatMap(([name, chain]) =>
      isBase(chain) && chain["policy"] === undefined && running.chains.get(name)?.["policy"] === "drop"
        ? [{ add: { chain: { ...chain, policy: "accept" } } }]
        : []
    )
  ]
}

/**
 * The transaction that replaces the tables of a ruleset, and `removed` ones, in what `running` lists (elements aren't
 * needed): in place where that is possible, so that no packet meets a table half made; else anew. On a ruleset without
 * these tables it is exactly the ruleset's own commands. A table that stays keeps its place in the list; `anew` takes
 * it away as a whole, for what nft refuses otherwise. `exact` also keeps the order of what is in the tables.
 */
export const replacement = (
  running: ReadonlyArray<unknown>,
  commands: ReadonlyArray<Json>,
  { anew = false, exact = false, removed = [] }: {
    readonly anew?: boolean
    readonly exact?: boolean
    readonly removed?: ReadonlyArray<string>
  } = {}
): Replacement => {
  const before = partsOf(declarations(running))
  const after = partsOf(declarations(commands))
  const preparation: Array<Json> = []
  const rest: Array<Json> = []
  const bridged: Array<Replacement["bridged"][number]> = []
  for (const key of new Set([...removed.filter((table) => !after.has(table)), ...after.keys()])) {
    const [present, wanted] = [before.get(key), after.get(key)]
    if (present === undefined) continue
    const { family, name: table } = tableBody(key)
    const stays = !anew && wanted !== undefined && wanted.table["flags"] === undefined
    const inPlace = stays && fits(present, wanted) && (!exact || ordered(present, wanted))
    const kept = inPlace ? wanted : noParts
    preparation.push(...ended(key, present, kept))
    rest.push(...stays ? emptied(key, present, kept) : [{ delete: { table: { family, name: table } } }])
    for (const [chain, body] of wanted?.chains ?? []) {
      const isKept = inPlace && present.chains.has(chain)
      if (isBase(body) && body["policy"] === "drop" && !isKept) bridged.push({ family, table, chain })
    }
  }
  const bridges = bridged.map(({ chain, family, table }) => ({
    add: { rule: { family, table, chain, expr: [{ drop: null }], comment: bridgeComment } }
  }))
  return {
    commands: [...preparation, ...rest, ...commands, ...bridges],
    start: preparation.length + rest.length,
    bridged
  }
}

/** Whether an object of a listing is a rule that `replacement` added. */
export const isBridgeRule = (object: unknown): boolean =>
  isJson(object) && isJson(object["rule"]) && object["rule"]["comment"] === bridgeComment

/** The rules in a listing that `replacement` added, as the commands that take them away. */
export const bridgeRemovals = (running: ReadonlyArray<unknown>): ReadonlyArray<Json> =>
  declarations(running).flatMap(({ body, kind }) =>
    kind === "rule" && body["comment"] === bridgeComment
      ? [{
        delete: {
          rule: { family: body["family"], table: body["table"], chain: body["chain"], handle: body["handle"] }
        }
      }]
      : []
  )

/** Objects without what the kernel counts and numbers, so that they can be declared again. */
export const redeclarable = (object: unknown): unknown =>
  JSON.parse(JSON.stringify(object, (key, value: unknown) => key === "handle" ? undefined : value))

/** The transactions that bring tables back to what they were: the first in place, the second from any state at all. */
export const restoration = (
  listed: ReadonlyArray<unknown>,
  replaced: ReadonlyArray<Json>,
  tables: ReadonlyArray<string>
): { readonly inPlace: ReadonlyArray<Json>; readonly anew: ReadonlyArray<Json> } => {
  const wanted = listed
    .filter((object) => declarations([object]).some((declared) => tables.includes(tableOf(declared))))
    .map(redeclarable)
    .filter(isJson)
    .map((object) => ({ add: object }))
  const anew = tables.flatMap((
    table
  ) => [{ add: { table: tableBody(table) } }, { delete: { table: tableBody(table) } }])
  return {
    inPlace: [
      ...tables.filter((table) => !tablesIn(replaced).has(table)).map((table) => ({
        add: { table: tableBody(table) }
      })),
      ...replacement(replaced, wanted, { exact: true, removed: tables }).commands.filter((command) =>
        !isBridge(command)
      )
    ],
    anew: [...anew, ...wanted]
  }
}

const tablesIn = (commands: ReadonlyArray<unknown>) => new Set(declarations(commands).map(tableOf))

const isBridge = (command: Json) => isBridgeRule(command["add"])
