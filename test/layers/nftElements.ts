import ipaddr from "ipaddr.js"
import { isDeepStrictEqual } from "node:util"
import { canonicalMac } from "../../src/schema/Mac.ts"

export type Json = Readonly<Record<string, unknown>>

interface Element {
  readonly key: string | number
  readonly data?: unknown
  readonly comment?: unknown
  timeout?: number
  expiresAtMs?: number
}

export interface NftSet {
  readonly kind: "set" | "map"
  readonly handle: number
  readonly definition: Json
  elements: Array<Element>
}

/** Why a command is refused; a transaction that meets one leaves the model as it was. */
export class Refused extends Error {}

export const refuse = (message: string): never => {
  throw new Refused(message)
}
export const missing = () => refuse("No such file or directory")
export const unmodelled = (what: string) => refuse(`${what} isn't modelled in memory`)

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const text = (value: unknown, what: string): string =>
  typeof value === "string" && value !== "" ? value : refuse(`${what} must be a name`)
export const only = (object: Json, ...known: ReadonlyArray<string>) => {
  for (const key of Object.keys(object)) if (!known.includes(key)) unmodelled(`property ${key}`)
}

export const keyTypes: Readonly<Record<string, (value: unknown) => string | number | undefined>> = {
  ipv4_addr: (value) => typeof value === "string" && ipaddr.IPv4.isValidFourPartDecimal(value) ? value : undefined,
  ipv6_addr: (value) =>
    typeof value === "string" && ipaddr.IPv6.isValid(value) ? ipaddr.IPv6.parse(value).toRFC5952String() : undefined,
  ether_addr: (value) => typeof value === "string" ? canonicalMac(value) : undefined,
  inet_service: (value) => isNumber(value, 65_535) ? value : undefined,
  mark: (value) => isNumber(value, 4_294_967_295) ? value : undefined
}

const isNumber = (value: unknown, max: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max

export const verdicts = ["accept", "drop", "return", "continue"]

const order = (key: string | number): string =>
  typeof key === "number"
    ? String(key).padStart(10, "0")
    : key.includes(":") && canonicalMac(key) !== undefined
    ? key
    : ipaddr.parse(key).toByteArray().map((byte) => String(byte).padStart(3, "0")).join("")

const parseElement = (set: NftSet, input: unknown, nowMs: number): Element => {
  const [keyed, data] = set.kind === "map" && Array.isArray(input) ? input : [input, undefined]
  const wrapped: Json = isJson(keyed) && isJson(keyed["elem"]) ? keyed["elem"] : { val: keyed }
  only(wrapped, "val", "timeout", "comment", "expires")
  const type = String(set.definition["type"])
  const key = keyTypes[type]?.(wrapped["val"]) ?? refuse(`An element isn't a plain ${type}`)
  const timeout = wrapped["timeout"]
  if (timeout === undefined) return { key, data, comment: wrapped["comment"] }
  const flags = set.definition["flags"]
  if (!Array.isArray(flags) || !flags.includes("timeout")) refuse("Could not process rule: Invalid argument")
  if (!isNumber(timeout, 4_294_967) || timeout === 0) return refuse("A timeout is a number of seconds")
  return { key, data, comment: wrapped["comment"], timeout, expiresAtMs: nowMs + timeout * 1000 }
}

const checkData = (set: NftSet, data: unknown) => {
  if (set.kind === "set") return
  const type = String(set.definition["map"])
  const right = type === "verdict"
    ? isJson(data) && Object.keys(data).length === 1 && verdicts.includes(Object.keys(data)[0] ?? "")
    : keyTypes[type]?.(data) === data
  if (!right) refuse(`An element needs a plain ${type} as its data`)
}

export const addElements = (set: NftSet, inputs: unknown, nowMs: number) => {
  const list = Array.isArray(inputs) ? inputs : [inputs]
  if (list.length === 0) refuse("Invalid set.")
  for (const input of list) {
    const element = parseElement(set, input, nowMs)
    checkData(set, element.data)
    const known = set.elements.find((other) => other.key === element.key)
    if (known === undefined) set.elements.push(element)
    else if (!isDeepStrictEqual(known.data, element.data)) refuse("Could not process rule: File exists")
    else if (element.timeout !== undefined) {
      known.timeout = element.timeout
      known.expiresAtMs = element.expiresAtMs!
    }
  }
  set.elements.sort((a, b) => order(a.key) < order(b.key) ? -1 : 1)
}

export const removeElements = (set: NftSet, inputs: unknown, nowMs: number) => {
  const list = Array.isArray(inputs) ? inputs : [inputs]
  if (list.length === 0) refuse("Invalid set.")
  for (const input of list) {
    const { key } = parseElement(set, input, nowMs)
    const at = set.elements.findIndex((other) => other.key === key)
    if (at < 0) missing()
    set.elements.splice(at, 1)
  }
}

export const defined = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

export const listElement = (element: Element, nowMs: number): unknown => {
  const { comment, data, expiresAtMs, key, timeout } = element
  const expires = expiresAtMs === undefined ? undefined : Math.floor((expiresAtMs - nowMs) / 1000)
  const wrapped = timeout === undefined && comment === undefined
    ? key
    : { elem: defined({ val: key, timeout, expires, comment }) }
  return data === undefined ? wrapped : [wrapped, data]
}
