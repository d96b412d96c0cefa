import { Schema } from "effect"

const shapes = [
  /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/,
  /^[0-9a-f]{2}(?:-[0-9a-f]{2}){5}$/,
  /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}$/,
  /^[0-9a-f]{12}$/
]

/** The lower-case colon form of a 48-bit MAC in any common notation, `undefined` when it is none. */
export const canonicalMac = (text: string): string | undefined => {
  if (text.length < 12 || text.length > 17) return undefined
  const lower = text.toLowerCase()
  if (shapes[0]!.test(lower)) return lower
  if (!shapes.some((shape) => shape.test(lower))) return undefined
  return lower.replace(/[^0-9a-f]/g, "").match(/../g)!.join(":")
}

const example = "a MAC address such as 02:bd:00:00:00:01"

/** A MAC address in canonical form: six lower-case octets joined by colons. */
export const CanonicalMac = Schema.String.pipe(
  Schema.pattern(shapes[0]!, { message: () => `Expected ${example}` }),
  Schema.brand("Mac"),
  Schema.annotations({ description: "MAC address, lower-case colon form" })
)

/**
 * A MAC address, accepted in the notations in common use (`AA-BB-CC-DD-EE-FF`, `aabb.ccdd.eeff`, bare hex) and
 * kept in lower-case colon form.
 */
export const Mac = Schema.transform(
  Schema.String.pipe(Schema.filter((text) => canonicalMac(text) !== undefined || `Expected ${example}`)).annotations({
    description: "MAC address in any common notation",
    examples: ["02:bd:00:00:00:01"]
  }),
  CanonicalMac,
  { strict: true, decode: (text) => canonicalMac(text) ?? text, encode: (mac) => mac }
)
export type Mac = typeof Mac.Type

/** Whether the MAC is locally administered (IEEE 802, second bit of the first octet), as randomised MACs are. */
export const isRandomizedMac = (mac: string): boolean => (parseInt(mac.slice(0, 2), 16) & 2) === 2

const ouiShape = /^[0-9a-f]{6}$/

/** The lower-case colon form `aa:bb:cc` of an OUI in any common notation, `undefined` when it is none. */
export const canonicalOui = (text: string): string | undefined => {
  const hex = text.toLowerCase().replace(/[:.-]/g, "")
  return ouiShape.test(hex) && text.length <= 8 ? hex.match(/../g)!.join(":") : undefined
}

/** The first three octets of a MAC, the vendor's assignment by IEEE, in the form `aa:bb:cc`. */
export const Oui = Schema.transform(
  Schema.String.pipe(Schema.filter((text) => canonicalOui(text) !== undefined || "Expected an OUI such as 00:0c:01")),
  Schema.String.pipe(Schema.pattern(/^[0-9a-f]{2}(?::[0-9a-f]{2}){2}$/)),
  { strict: true, decode: (text) => canonicalOui(text) ?? text, encode: (oui) => oui }
)
