import { FastCheck as fc } from "effect"

type Json = Record<string, any>

const depthMax = 6

/** Texts that the field's notations take, by the name of the place where they stand. */
const words: Readonly<Record<string, fc.Arbitrary<string>>> = {
  mac: fc.constantFrom("02:bd:00:00:00:01", "AA-BB-CC-00-00-02", "aabb.cc00.0003"),
  ip: fc.constantFrom("192.0.2.7", "2001:db8::7"),
  network: fc.constantFrom("192.0.2.0/24", "2001:db8::/32", "198.51.100.9"),
  oui: fc.constantFrom("02:bd:00", "AABBCC"),
  every: fc.constantFrom("30s", "5m", "1h"),
  step: fc.constantFrom("1m", "3600", "1h"),
  earlier: fc.constantFrom("2096-02-01T00:00:00Z", "2096-02-01T06:30:00.5Z"),
  later: fc.constantFrom("2096-02-02T00:00:00Z", "2096-02-02T00:00:01Z"),
  cron: fc.constantFrom("*/5 * * * *", "0 3 * * 1"),
  zone: fc.constantFrom("UTC", "Europe/Berlin"),
  language: fc.constantFrom("en", "de-CH"),
  duid: fc.constantFrom("00:01:00:01:2a:2b:2c:2d:02:bd:00:00:00:01", "000300010200bd000001"),
  table: fc.constantFrom("dhcp_events", "firewall_events"),
  username: fc.constantFrom("admin", "ada", "fuzz-user")
}
const kindOf: Readonly<Record<string, keyof typeof words>> = {
  mac: "mac",
  macs: "mac",
  client: "mac",
  client_mac: "mac",
  duid: "duid",
  duids: "duid",
  mac_prefixes: "oui",
  ouis: "oui",
  ip: "ip",
  network: "network",
  networks: "network",
  subnets: "network",
  every: "every",
  step: "step",
  start: "earlier",
  end: "later",
  seen_since: "earlier",
  seen_before: "later",
  cron: "cron",
  timezone: "zone",
  language: "language",
  table_name: "table",
  username: "username"
}

const textOf = ({ format, maxLength, minLength = 0, pattern }: Json, name: string): fc.Arbitrary<unknown> => {
  const kind = kindOf[name]
  if (kind !== undefined) return words[kind]!
  if (format === "date-time") {
    return fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true }).map((at) => at.toISOString())
  }
  if (format === "uuid") return fc.uuid()
  if (typeof pattern === "string") {
    try {
      return fc.stringMatching(new RegExp(pattern, "u"))
    } catch {
      return fc.string()
    }
  }
  return fc.string({ minLength, maxLength: Math.min(maxLength ?? 30, Math.max(30, minLength)), unit: "grapheme" })
}

const numberOf = ({ exclusiveMaximum, exclusiveMinimum, maximum, minimum, type }: Json): fc.Arbitrary<unknown> => {
  const min = minimum ?? (exclusiveMinimum === undefined ? -1e6 : exclusiveMinimum + 1)
  const max = maximum ?? (exclusiveMaximum === undefined ? Math.max(1e6, min) : exclusiveMaximum - 1)
  return type === "integer"
    ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
    : fc.double({ min, max, noNaN: true })
}

/** Values of the schemas of an OpenAPI 3.1 document, nearly: what only its descriptions say is not kept. */
export const valuesOf = (document: Json) => {
  const resolve = (schema: Json): Json =>
    typeof schema["$ref"] === "string"
      ? resolve({
        ...(schema["$ref"].slice(2).split("/") as Array<string>).reduce<Json>((at, key) => at[key] as Json, document),
        ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$ref"))
      })
      : schema

  const go = (given: Json, depth: number, name: string): fc.Arbitrary<unknown> => {
    const { allOf, ...own } = resolve(given)
    const schema = (allOf as Array<Json> | undefined ?? []).reduce(
      (all, part) => ({ ...all, ...resolve(part) }),
      own as Json
    )
    if ("const" in schema) return fc.constant(schema["const"])
    if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"] as Array<unknown>)
    const choices = (schema["anyOf"] ?? schema["oneOf"]) as Array<Json> | undefined
    if (choices !== undefined) {
      const flat = depth > depthMax ? choices.slice(0, 1) : choices
      return fc.oneof(...flat.map((choice) => go(choice, depth + 1, name)))
    }
    const type = Array.isArray(schema["type"]) ? schema["type"][0] as string : schema["type"] as string | undefined
    switch (type) {
      case "string":
        return textOf(schema, name)
      case "integer":
      case "number":
        return numberOf(schema)
      case "boolean":
        return fc.boolean()
      case "null":
        return fc.constant(null)
      case "array": {
        if (Array.isArray(schema["prefixItems"])) {
          return fc.tuple(...(schema["prefixItems"] as Array<Json>).map((item) => go(item, depth + 1, name)))
        }
        const minLength = (schema["minItems"] as number | undefined) ?? 0
        return fc.array(go((schema["items"] as Json | undefined) ?? {}, depth + 1, name), {
          minLength,
          maxLength: Math.max(minLength, depth > depthMax ? 0 : 3)
        })
      }
      case "object": {
        const properties = Object.entries<Json>(schema["properties"] as Json | undefined ?? {})
        const required = (schema["required"] as Array<string> | undefined) ?? []
        const kept = depth > depthMax ? properties.filter(([key]) => required.includes(key)) : properties
        return fc.record(Object.fromEntries(kept.map(([key, value]) => [key, go(value, depth + 1, key)])), {
          requiredKeys: kept.map(([key]) => key).filter((key) => required.includes(key)),
          noNullPrototype: true
        })
      }
      default:
        return fc.jsonValue({ maxDepth: 1 })
    }
  }
  return (schema: Json, name = "") => go(schema, 0, name)
}
