import { address, isLiteral, type Kinds, kindsOf, other, setTypeKinds } from "./addressKinds.ts"
import { type Declared, isJson, type Json, pointerTo, tableOf } from "./commands.ts"

/** Reports a string that nft would resolve as a host name. */
type Report = (pointer: string) => void

const walk = (value: unknown, kinds: Kinds, pointer: string, report: Report): void => {
  if (typeof value === "string") {
    if (kinds.includes(true) && !isLiteral(value)) report(pointer)
    return
  }
  if (Array.isArray(value)) {
    const isFree = !kinds.includes(true)
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i]
      // The usual element is a plain literal; a pointer is made only for what needs one.
      if (typeof item === "string" && (isFree || isLiteral(item))) continue
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

/** What a rule is in. */
interface Place {
  readonly family: unknown
  readonly setsOf: (name: unknown) => SetKinds | undefined
}

const walkStatement = (statement: unknown, place: Place, pointer: string, report: Report): void => {
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
        // In netdev a packet is duplicated to an interface.
        walk(body["addr"], kind === "dup" && place.family === "netdev" ? other : address, pointerTo(at, "addr"), report)
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
        const found = place.setsOf(body[kind])
        walk(body["elem"], found?.keys ?? address, pointerTo(at, "elem"), report)
        walk(body["data"], found?.values ?? address, pointerTo(at, "data"), report)
        walkStatements(body["stmt"], place, pointerTo(at, "stmt"), report)
        break
      }
      case "meter":
        walk(body["key"], kindsOf(isJson(body["key"]) ? body["key"] : undefined), pointerTo(at, "key"), report)
        walkStatements(body["stmt"], place, pointerTo(at, "stmt"), report)
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

const walkStatements = (statements: unknown, place: Place, pointer: string, report: Report) => {
  if (Array.isArray(statements)) {
    statements.forEach((one, i) => walkStatement(one, place, pointerTo(pointer, i), report))
  } else walkStatement(statements, place, pointer, report)
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
    if (kind === "rule") {
      const place = { family: body["family"], setsOf: named }
      walkStatements(body["expr"], place, pointerTo(pointer, "expr"), report)
    } else if (kind === "set" || kind === "map" || kind === "element") {
      walkElements(body["elem"], named(body["name"]) ?? unknownSet, pointerTo(pointer, "elem"), report)
    }
  }
}
