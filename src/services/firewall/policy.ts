import type { RulesetError } from "../../schema/FirewallConfig.ts"
import { hostNames } from "./addresses.ts"
import { declarations, type Declared, declaredBy, isJson, type Json, objectKinds, pointerTo } from "./commands.ts"

/** Most errors that one judgement lists. */
const errorsMax = 100

const families = ["ip", "ip6", "inet", "arp", "bridge", "netdev"]

const unprintable = /[\0\ud800-\udfff]/u

const refusal = (pointer: string, message: string): RulesetError => ({ source: "policy", pointer, message })

/** Texts that can't be kept or sent: a NUL, half a surrogate pair. */
const unprintables = (value: unknown, pointer: string, report: (pointer: string) => void): void => {
  if (typeof value === "string") {
    if (unprintable.test(value)) report(pointer)
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i]
      if (typeof item === "string" ? unprintable.test(item) : typeof item === "object") {
        unprintables(item, pointerTo(pointer, i), report)
      }
    }
  } else if (isJson(value)) {
    for (const [key, inner] of Object.entries(value)) {
      if (unprintable.test(key)) report(pointer)
      else unprintables(inner, pointerTo(pointer, key), report)
    }
  }
}

/** Whether there may be such texts: in JSON they are escaped, so that one search finds none in the usual ruleset. */
const maybeUnprintable = (commands: ReadonlyArray<unknown>) => {
  try {
    return /\\u(?:0000|d[89a-f])/.test(JSON.stringify(commands))
  } catch {
    return true
  }
}

const shapeOf = (command: unknown, index: number): RulesetError | undefined => {
  const pointer = pointerTo("/nftables", index)
  if (!isJson(command)) return refusal(pointer, "Expected an object or an `add` command")
  const keys = Object.keys(command)
  if (keys.length !== 1) return refusal(pointer, "Expected an object with exactly one key")
  const [verb = ""] = keys
  if (declaredBy(command, index) !== undefined) return undefined
  const at = pointerTo(pointer, verb)
  if (verb === "metainfo") return isJson(command[verb]) ? undefined : refusal(at, "Expected an object")
  if (verb === "flush") return refusal(at, "A configuration is declarative: it can't flush what is running")
  if (verb !== "add" && !(objectKinds as ReadonlyArray<string>).includes(verb)) {
    return refusal(at, "Only objects and `add` commands are allowed")
  }
  return refusal(at, `Expected one of ${objectKinds.join(", ")} with its properties`)
}

const familyRefusal = (object: Declared): RulesetError | undefined => {
  const family = object.body["family"]
  return families.includes(String(family)) && typeof family === "string"
    ? undefined
    : refusal(pointerTo(object.pointer, "family"), `Expected one of ${families.join(", ")}`)
}

const ownTable = (object: Declared): RulesetError | undefined => {
  const key = object.kind === "table" ? "name" : "table"
  const table = object.body[key]
  if (table === undefined) return refusal(pointerTo(object.pointer, key), "Expected the name of the table")
  return String(table).startsWith("netops_")
    ? refusal(pointerTo(object.pointer, key), "Tables named netops_… belong to this service")
    : undefined
}

const objectRefusals = (object: Declared): ReadonlyArray<RulesetError> =>
  [
    familyRefusal(object),
    ownTable(object)
  ].filter((error) => error !== undefined)

/**
 * What a configuration may not say, whatever nft thinks of it: commands that act on anything but the tables that it
 * declares, names of ours, host names. Nothing of the input is in a message.
 */
export const refusals = (commands: ReadonlyArray<unknown>): ReadonlyArray<RulesetError> => {
  const errors: Array<RulesetError> = []
  const objects: Array<Declared> = []
  for (let index = 0; index < commands.length && errors.length < errorsMax; index++) {
    const command = commands[index]
    const shape = shapeOf(command, index)
    if (shape !== undefined) errors.push(shape)
    const object = declaredBy(command, index)
    if (object === undefined) continue
    objects.push(object)
    errors.push(...objectRefusals(object))
  }
  const refuse = (message: string) => (pointer: string) => {
    if (errors.length < errorsMax) errors.push(refusal(pointer, message))
  }
  if (maybeUnprintable(commands)) {
    unprintables(commands, "/nftables", refuse("A text may hold neither NUL nor half a surrogate pair"))
  }
  hostNames(objects, refuse("Expected a literal address; host names are not looked up"))
  return errors.slice(0, errorsMax)
}

/** The commands as nft takes them, once `refusals` found nothing. */
export const asCommands = (commands: ReadonlyArray<unknown>): ReadonlyArray<Json> => commands as ReadonlyArray<Json>

/** What nft's own language can say as a name. */
const name = /^[A-Za-z_][A-Za-z0-9_/.\\-]{0,254}$/

/** Names of tables, chains, sets and the like that only the JSON can say: nft would print them, and not read them. */
export const unspeakable = (commands: ReadonlyArray<unknown>): ReadonlyArray<RulesetError> =>
  declarations(commands).flatMap(({ body, pointer }) =>
    ["table", "chain", "name"]
      .filter((key) => body[key] !== undefined && !name.test(String(body[key])))
      .map((key) => refusal(pointerTo(pointer, key), "nft's own language can't say this name"))
  ).slice(0, errorsMax)
