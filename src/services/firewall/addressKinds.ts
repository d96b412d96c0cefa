import { isIPv4, isIPv6 } from "node:net"
import { isJson } from "./commands.ts"

/** Of each part of a concatenation: whether nft reads a string there as an address. */
export type Kinds = ReadonlyArray<boolean>

export const address: Kinds = [true]
export const other: Kinds = [false]

const octets = /^(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,11})$/

/** What inet_aton(3) takes, so that getaddrinfo(3) asks nobody: one to four numbers, decimal, octal or hexadecimal. */
const isNumericIpv4 = (text: string): boolean => {
  const parts = text.split(".")
  if (parts.length > 4 || !parts.every((part) => octets.test(part) && !/^0\d*[89]/.test(part))) return false
  const values = parts.map((part) => /^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part))
  const last = values.pop() ?? 0
  return values.every((value) => value <= 255) && last < 256 ** (4 - values.length)
}

/** What nft reads without asking anybody. */
export const isLiteral = (text: string) =>
  isIPv4(text) || text === "*" || text.startsWith("@") || isNumericIpv4(text) || isIPv6(text)

const addressFields: Readonly<Record<string, RegExp>> = {
  payload: /^(?:saddr|daddr|saddr ip|daddr ip|taddr|gateway|group)$/,
  exthdr: /^addr/,
  "ip option": /^addr/
}

/** How nft reads the elements of a set of this type. */
export const setTypeKinds = (type: unknown): Kinds => {
  if (isJson(type)) return "typeof" in type ? kindsOf(type["typeof"]) : address
  const types = Array.isArray(type) ? type : String(type).split(/\s*\.\s*/)
  return types.map((name) => isJson(name) ? kindsOf(name).includes(true) : /^ip(?:v4|v6|)_?addr$/.test(String(name)))
}

/** How nft reads constants that meet this expression. Unknown expressions are taken for addresses. */
export const kindsOf = (expression: unknown): Kinds => {
  if (Array.isArray(expression)) return kindsOf(expression[0])
  if (!isJson(expression)) return address
  const [kind = "", value] = Object.entries(expression)[0] ?? []
  const body = isJson(value) ? value : {}
  switch (kind) {
    case "payload":
      // An ether address has the field name of an IP address; nft never resolves it.
      if (body["protocol"] === "ether") return other
      return addressFields[kind]!.test(String(body["field"])) ? address : other
    case "exthdr":
    case "ip option":
      return addressFields[kind]!.test(String(body["field"])) ? address : other
    case "ct":
    case "ipsec":
      return /addr$/.test(String(body["key"])) ? address : other
    case "rt":
      return body["key"] === "nexthop" ? address : other
    case "concat":
      return Array.isArray(value) ? value.flatMap(kindsOf) : address
    case "map":
      return mapKinds(body["data"])
    case "prefix":
      return kindsOf(body["addr"])
    case "|":
    case "^":
    case "&":
    case "<<":
    case ">>":
      return Array.isArray(value) ? kindsOf(value.find(isJson)) : address
    case "elem":
      return kindsOf(body["val"])
    case "meta":
    case "fib":
    case "numgen":
    case "jhash":
    case "symhash":
    case "osf":
    case "socket":
    case "tcp option":
    case "sctp chunk":
    case "dccp option":
      return other
  }
  return address
}

/** A map's values can't be told from its name; those of an anonymous one are what they look like. */
const mapKinds = (_data: unknown): Kinds => address
