import { Effect, Option } from "effect"
import type { RulesetWarning } from "../../schema/FirewallConfig.ts"
import { canonicalIp } from "../../schema/Ip.ts"
import type { Connection, Nft } from "../Nft.ts"
import { declarations, type Declared, isJson, type Json, tableOf } from "./commands.ts"

/** Hooks that packets of a connection with this host pass. */
const ownHooks: ReadonlyArray<unknown> = ["ingress", "prerouting", "input", "output", "postrouting", "egress"]

/** Most elements that a ruleset is tried with. */
const elementsMax = 5_000

/** Statements that let a packet pass, whatever it is; `jump` and `goto` as far as the rules there do. */
const harmless = ["match", "counter", "log", "limit", "accept", "return", "continue", "jump", "goto"]

const statementsOf = ({ body, kind }: Declared): ReadonlyArray<unknown> =>
  kind === "rule" && Array.isArray(body["expr"]) ? body["expr"] : []

const isHarmless = (object: Declared): boolean =>
  object.kind === "chain"
    ? object.body["policy"] !== "drop"
    : statementsOf(object).every((statement) =>
      isJson(statement) && Object.keys(statement).every((key) => harmless.includes(key))
    )

/** The set that a rule looks the packet up in before all else, if it is one. */
const lookupOf = (object: Declared): string | undefined => {
  const [first] = statementsOf(object)
  const match = isJson(first) ? first["match"] : undefined
  return isJson(match) && match["op"] === "==" && typeof match["right"] === "string" && match["right"].startsWith("@")
    ? `${tableOf(object)} ${match["right"].slice(1)}`
    : undefined
}

/**
 * What of a ruleset a connection can meet: without the elements that are addresses of others, and without the rules
 * that look for it in sets of nobody else. None where there are too many elements left to try.
 */
export const metBy = (
  commands: ReadonlyArray<unknown>,
  { from, to }: Connection
): Option.Option<ReadonlyArray<Declared>> => {
  const objects = declarations(commands)
  const isMet = (element: unknown) => {
    const address = typeof element === "string" ? canonicalIp(element) : undefined
    return address === undefined || address === from || address === to
  }
  let count = 0
  const filled = new Set<string>()
  const kept = objects.flatMap((object) => {
    const { body: { elem, ...body }, kind } = object
    if (elem === undefined) return [object]
    const met = (Array.isArray(elem) ? elem : [elem]).filter(isMet)
    count += met.length
    if (met.length === 0) return kind === "element" ? [] : [{ ...object, body }]
    filled.add(`${tableOf(object)} ${String(body["name"])}`)
    return [{ ...object, body: { ...body, elem: met } }]
  })
  if (count > elementsMax) return Option.none()
  // A rule that fills a set makes any of them one that may hold the connection.
  const fills = objects.some((object) =>
    statementsOf(object).some((statement) => isJson(statement) && ("set" in statement || "map" in statement))
  )
  return Option.some(
    fills ? kept : kept.filter((object) => {
      const set = lookupOf(object)
      return set === undefined || filled.has(set)
    })
  )
}

/** Whether the caller's own connection would be refused, tried where the ruleset holds anything that could. */
export const lockout = (
  nft: Nft["Type"],
  commands: ReadonlyArray<Json>,
  caller: Connection | undefined
): Effect.Effect<ReadonlyArray<RulesetWarning>> =>
  Effect.gen(function*() {
    if (caller === undefined) return []
    const met = Option.getOrElse(metBy(commands, caller), () => [])
    const sees = met.some(({ body, kind }) => kind === "chain" && ownHooks.includes(body["hook"]))
    if (!sees || met.every(isHarmless)) return []
    const admitted = yield* nft.admits(met.map(({ body, kind }) => ({ add: { [kind]: body } })), caller)
    if (Option.getOrElse(admitted, () => true)) return []
    const { from, port, to } = caller
    const message =
      `Tried with these rules alone, a new TCP connection from ${from} to ${to} port ${port}, as this request came, fails`
    return [{ code: "caller_locked_out", pointer: "", message }]
  })
