import type { RulesetWarning } from "../../schema/FirewallConfig.ts"
import { declarations, type Declared, isJson, type Json, pointerTo, tableOf } from "./commands.ts"

/** Whether a JSON object in there, at any depth, is what is looked for. */
export const mentions = (value: unknown, found: (value: Json) => boolean): boolean =>
  Array.isArray(value)
    ? value.some((item) => mentions(item, found))
    : isJson(value) && (found(value) || Object.values(value).some((inner) => mentions(inner, found)))

const texts = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value.flatMap(texts) : isJson(value) ? Object.values(value).flatMap(texts) : [value]

const statements = (rule: Json): ReadonlyArray<unknown> => Array.isArray(rule["expr"]) ? rule["expr"] : []

/** The chains that statements or verdicts jump or go to. */
export const targets = (expressions: unknown): ReadonlyArray<string> => {
  const found: Array<string> = []
  mentions(expressions, (value) => {
    for (const verb of ["jump", "goto"]) {
      const target = value[verb]
      if (isJson(target) && typeof target["target"] === "string") found.push(target["target"])
    }
    return false
  })
  return found
}

/** The rules that a packet in this chain can meet. */
const reachable = (rules: ReadonlyArray<Json>, start: string): ReadonlyArray<Json> => {
  const seen = new Set<string>()
  const visit = (chain: string): ReadonlyArray<Json> => {
    if (seen.has(chain)) return []
    seen.add(chain)
    return rules.filter((rule) => rule["chain"] === chain).flatMap((
      rule
    ) => [rule, ...targets(statements(rule)).flatMap(visit)])
  }
  return visit(start)
}

const acceptsEstablished = (rule: Json) =>
  mentions(statements(rule), (value) => isJson(value["ct"]) && value["ct"]["key"] === "state") &&
  texts(statements(rule)).includes("established")

const accepts = (rule: Json) => mentions(statements(rule), (value) => "accept" in value || "vmap" in value)

const isPort = (left: unknown) =>
  isJson(left) && isJson(left["payload"]) && left["payload"]["field"] === "dport" &&
  ["tcp", "th"].includes(String(left["payload"]["protocol"]))

const meetsPort = (right: unknown, port: number): boolean => {
  if (right === port || right === String(port)) return true
  if (typeof right === "string") return right.startsWith("@")
  if (Array.isArray(right)) return right.some((item) => meetsPort(item, port))
  if (!isJson(right)) return false
  const range = right["range"]
  if (Array.isArray(range)) return Number(range[0]) <= port && port <= Number(range[1])
  return Object.values(right).some((inner) => meetsPort(inner, port))
}

/** Whether the rule lets in what is sent to this port of this host, as far as one rule can tell. */
const acceptsPort = (rule: Json, port: number): boolean => {
  if (!accepts(rule)) return false
  const matches = statements(rule).flatMap((statement) =>
    isJson(statement) && isJson(statement["match"]) ? [statement["match"]] : []
  )
  const ports = matches.filter((match) => isPort(match["left"]))
  if (ports.length > 0) return ports.every((match) => meetsPort(match["right"], port))
  const isStateful = matches.some((match) => isJson(match["left"]) && "ct" in match["left"])
  const isOther = matches.some((match) => ["udp", "icmp", "icmpv6", "sctp"].some((name) => texts(match).includes(name)))
  return !isStateful && !isOther
}

const dropsByDefault = (chain: Declared, rules: ReadonlyArray<Json>) => {
  if (chain.body["policy"] === "drop") return true
  const last = rules.filter((rule) => rule["chain"] === chain.body["name"]).at(-1)
  const first = last === undefined ? undefined : statements(last).find((statement) => !isCounter(statement))
  return isJson(first) && ("drop" in first || "reject" in first)
}

const isCounter = (statement: unknown) => isJson(statement) && ("counter" in statement || "log" in statement)

const warningsOf = (chain: Declared, rules: ReadonlyArray<Json>, port: number): ReadonlyArray<RulesetWarning> => {
  const met = reachable(rules, String(chain.body["name"]))
  const pointer = pointerTo(chain.pointer, "policy" in chain.body ? "policy" : "hook")
  const warnings: Array<RulesetWarning> = []
  if (!met.some((rule) => accepts(rule) && acceptsEstablished(rule))) {
    warnings.push({
      code: "established_not_accepted",
      pointer,
      message: "What isn't accepted is dropped, and no rule accepts established connections: answers won't come back"
    })
  }
  if (chain.body["hook"] === "input" && !met.some((rule) => acceptsPort(rule, port))) {
    warnings.push({
      code: "service_port_not_accepted",
      pointer,
      message:
        `What isn't accepted is dropped, and no rule accepts TCP port ${port} of this service: it may cut you off`
    })
  }
  return warnings
}

/** What is valid and probably not meant. */
export const warnings = (
  commands: ReadonlyArray<unknown>,
  service: { readonly port: number }
): ReadonlyArray<RulesetWarning> => {
  const objects = declarations(commands)
  return objects
    .filter(({ body, kind }) => kind === "chain" && (body["hook"] === "input" || body["hook"] === "forward"))
    .filter(({ body }) => body["type"] === "filter")
    .flatMap((chain) => {
      const rules = objects
        .filter((object) => object.kind === "rule" && tableOf(object) === tableOf(chain))
        .map(({ body }) => body)
      return dropsByDefault(chain, rules) ? warningsOf(chain, rules, service.port) : []
    })
}
