import { isIPv6 } from "node:net"
import { type Declared, isJson, type Json, pointerTo, tableOf } from "./commands.ts"

/** Reports a string that nft would resolve as a host name. */
type Report = (pointer: string) => void

/** Of each part of a concatenation: whether nft reads a string there as an address. */
type Kinds = ReadonlyArray<boolean>

const address: Kinds = [true]
const other: Kinds = [false]

const octets = /^(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,11})$/

/** What inet_aton(3) takes, so that getaddrinfo(3) asks nobody: one to four numbers, decimal, octal or hexadecimal. */
const isNumericIpv4 = (text: string): boolean => {
  const parts = text.split(".")
  if (parts.length > 4 || !parts.every((part) => octets.test(part) && !/^0\d*[89]/.test(part))) return false
  const values = parts.map((part) => /^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part))
  const last = values.pop() ?? 0
  return values.every((value) => value <= 255) && last < 256 ** (4 - values.length)
}

const isLiteral = (text: string) => text === "*" || text.startsWith("@") || isNumericIpv4(text) || isIPv6(text)

const addressFields: Readonly<Record<string, RegExp>> = {
  payload: /^(?:saddr|daddr|saddr ip|daddr ip|taddr|gateway|group)$/,
  exthdr: /^addr/,
  "ip option": /^addr/
}

const setTypeKinds = (type: unknown): Kinds => {
  if (isJson(type)) return "typeof" in type ? kindsOf(type["typeof"]) : address
  const types = Array.isArray(type) ? type : String(type).split(/\s*\.\s*/)
  return types.map((name) => isJson(name) ? kindsOf(name).includes(true) : /^ip(?:v4|v6|)_?addr$/.test(String(name)))
}

/** How nft reads constants that meet this expression. Unknown expressions are taken for addresses. */
const kindsOf = (expression: unknown): Kinds => {
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

const walk = (value: unknown, kinds: Kinds, pointer: string, report: Report): void => {
  if (typeof value === "string") {
    if (kinds.includes(true) && !isLiteral(value)) report(pointer)
    return
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i]
      // The usual element is a plain literal; a pointer is made only for what needs one.
      if (typeof item === "string" && (!kinds.includes(true) || isLiteral(item))) continue
      if (typeof item === "object" || typeof item === "string") walk(item, kinds, pointerTo(pointer, i), report)
    }
    return
  }
  if (!isJson(value)) return
  for (const [kind, inner] of Object.entries(value)) {
    walkExpression(kind, inner, kinds, pointerTo(pointer, kind), report)
  }
}

const walkExpression = (kind: string, inner: unknown, kinds: Kinds, pointer: string, report: Report): void => {
  const body = isJson(inner) ? inner : {}
  switch (kind) {
    case "concat":
      if (!Array.isArray(inner)) return
      return inner.forEach((part, i) =>
        walk(part, kinds.length === inner.length ? [kinds[i]!] : kinds, pointerTo(pointer, i), report)
      )
    case "set":
    case "range":
    case "|":
    case "^":
    case "&":
    case "<<":
    case ">>":
      return walk(inner, kinds, pointer, report)
    case "prefix":
      return walk(body["addr"], kinds, pointerTo(pointer, "addr"), report)
    case "elem":
      return walk(body["val"], kinds, pointerTo(pointer, "val"), report)
    case "map":
      return walkMap(body, kinds, pointer, report)
    case "jhash":
      return walk(body["expr"], other, pointerTo(pointer, "expr"), report)
  }
}

/** A map expression: constants are its keys and, as pairs of an anonymous set, what they map to. */
const walkMap = (body: Json, values: Kinds, pointer: string, report: Report): void => {
  walk(body["key"], address, pointerTo(pointer, "key"), report)
  walkPairs(body["data"], kindsOf(body["key"]), values, pointerTo(pointer, "data"), report)
}

const walkPairs = (data: unknown, keys: Kinds, values: Kinds, pointer: string, report: Report): void => {
  if (isJson(data)) {
    for (const [kind, inner] of Object.entries(data)) {
      if (kind === "set") walkPairs(inner, keys, values, pointerTo(pointer, kind), report)
      else walkExpression(kind, inner, values, pointerTo(pointer, kind), report)
    }
    return
  }
  if (!Array.isArray(data)) return walk(data, values, pointer, report)
  data.forEach((pair, i) => {
    if (!Array.isArray(pair)) return walk(pair, keys, pointerTo(pointer, i), report)
    walk(pair[0], keys, pointerTo(pointer, i, 0), report)
    for (let part = 1; part < pair.length; part++) walk(pair[part], values, pointerTo(pointer, i, part), report)
  })
}

interface SetKinds {
  readonly keys: Kinds
  readonly values: Kinds | undefined
}
type Sets = ReadonlyMap<string, SetKinds>

const verdictMap: Kinds = other

const walkStatement = (
  statement: unknown,
  setsOf: (name: unknown) => SetKinds | undefined,
  pointer: string,
  report: Report
): void => {
  if (!isJson(statement)) return
  for (const [kind, inner] of Object.entries(statement)) {
    const at = pointerTo(pointer, kind)
    const body = isJson(inner) ? inner : {}
    switch (kind) {
      case "match":
        walk(body["left"], kindsOf(body["left"]), pointerTo(at, "left"), report)
        walk(body["right"], kindsOf(body["left"]), pointerTo(at, "right"), report)
        break
      case "snat":
      case "dnat":
      case "tproxy":
      case "dup":
      case "fwd":
        walk(body["addr"], address, pointerTo(at, "addr"), report)
        for (const key of ["port", "dev"]) walk(body[key], other, pointerTo(at, key), report)
        break
      case "masquerade":
      case "redirect":
        walk(body["port"], other, pointerTo(at, "port"), report)
        break
      case "mangle":
        walk(body["value"], kindsOf(body["key"]), pointerTo(at, "value"), report)
        break
      case "vmap":
        walk(body["key"], kindsOf(body["key"]), pointerTo(at, "key"), report)
        walkPairs(body["data"], kindsOf(body["key"]), verdictMap, pointerTo(at, "data"), report)
        break
      case "set":
      case "map": {
        const found = setsOf(body[kind])
        walk(body["elem"], found?.keys ?? address, pointerTo(at, "elem"), report)
        walk(body["data"], found?.values ?? address, pointerTo(at, "data"), report)
        walkStatements(body["stmt"], setsOf, pointerTo(at, "stmt"), report)
        break
      }
      case "meter":
        walk(body["key"], kindsOf(isJson(body["key"]) ? body["key"] : undefined), pointerTo(at, "key"), report)
        walkStatements(body["stmt"], setsOf, pointerTo(at, "stmt"), report)
        break
      // Names of objects, chosen by a key.
      case "counter":
      case "quota":
      case "limit":
      case "ct helper":
      case "ct timeout":
      case "ct expectation":
      case "secmark":
      case "synproxy":
      case "queue":
        walk(inner, other, at, report)
        break
    }
  }
}

const walkStatements = (
  statements: unknown,
  setsOf: (name: unknown) => SetKinds | undefined,
  pointer: string,
  report: Report
) => {
  if (Array.isArray(statements)) {
    statements.forEach((one, i) => walkStatement(one, setsOf, pointerTo(pointer, i), report))
  } else walkStatement(statements, setsOf, pointer, report)
}

const setKey = (object: Declared, name: unknown) => `${tableOf(object)} ${String(name)}`

const setsOf = (objects: ReadonlyArray<Declared>): Sets =>
  new Map(
    objects.filter(({ kind }) => kind === "set" || kind === "map").map((object) => [
      setKey(object, object.body["name"]),
      {
        keys: setTypeKinds(object.body["type"]),
        values: object.kind === "map" ? setTypeKinds(object.body["map"]) : undefined
      }
    ])
  )

const walkElements = (elements: unknown, set: SetKinds, pointer: string, report: Report) =>
  set.values === undefined
    ? walk(elements, set.keys, pointer, report)
    : walkPairs(elements, set.keys, set.values, pointer, report)

const unknownSet: SetKinds = { keys: address, values: undefined }

/**
 * Names every string that nft would look up as a host name: nft takes any string in the place of an address for one,
 * also in a check. Interfaces, services and users, which it looks up on this host alone, are left to nft.
 */
export const hostNames = (objects: ReadonlyArray<Declared>, report: Report): void => {
  const sets = setsOf(objects)
  for (const object of objects) {
    const { body, kind, pointer } = object
    const named = (name: unknown) => sets.get(setKey(object, String(name).replace(/^@/, "")))
    if (kind === "rule") walkStatements(body["expr"], named, pointerTo(pointer, "expr"), report)
    else if (kind === "set" || kind === "map" || kind === "element") {
      walkElements(body["elem"], named(body["name"]) ?? unknownSet, pointerTo(pointer, "elem"), report)
    }
  }
}
