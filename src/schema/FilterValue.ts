import { RE2JS } from "re2js"
import { asciiLower } from "./Ascii.ts"
import { canonicalDuid } from "./Duid.ts"
import { type FieldKind, filterLimits, type FilterOp } from "./FilterOps.ts"
import { canonicalIp, parseCidr } from "./Ip.ts"
import { canonicalMac, canonicalOui } from "./Mac.ts"
import { canonicalInstant } from "./Time.ts"

/** The canonical form of one value of a rule, or what was expected instead. */
export type ValueResult =
  | { readonly ok: true; readonly value: string | number | boolean }
  | { readonly ok: false; readonly expected: string }

const ok = (value: string | number | boolean): ValueResult => ({ ok: true, value })
const expected = (text: string): ValueResult => ({ ok: false, expected: `Expected ${text}` })
const orElse = (value: string | undefined, text: string): ValueResult =>
  value === undefined ? expected(text) : ok(value)

const forAbsent = "; for absent values use exists with value false"

/** The regular expression as the predicate runs it: the dot matches newlines, as in ClickHouse's `match`. */
export const compileRegex = (pattern: string): RE2JS => RE2JS.compile(pattern, RE2JS.DOTALL)

// escapes pair by pair; engines differ in which Unicode classes they know and in the characters these hold
const unicodeClass = /^(?:[^\\]|\\[^pP])*\\[pP]/s

const regex = (pattern: string): ValueResult => {
  if (pattern.length > filterLimits.regex) {
    return expected(`a regular expression of at most ${filterLimits.regex} characters`)
  }
  if (unicodeClass.test(pattern)) return expected("a regular expression without Unicode classes such as \\pL")
  try {
    return compileRegex(pattern).programSize() > filterLimits.regexProgram
      ? expected("a smaller regular expression: its repetitions are too large")
      : ok(pattern)
  } catch {
    return expected("a regular expression in RE2 syntax (no backreferences, no lookaround)")
  }
}

const hexAndColons = /^[0-9a-f:]{1,260}$/
const hex = /^[0-9a-f]{1,260}$/
const dashes = /-/g
const duidSeparators = /[:\s-]/g

const partOfMac = (op: FilterOp, text: string): string | undefined => {
  const full = canonicalMac(text)
  if (full !== undefined) return full
  const lower = text.toLowerCase().replace(dashes, ":")
  const bare = lower.replaceAll(".", "")
  if (op === "starts_with" && hex.test(bare)) return bare.match(/..?/g)!.join(":")
  return hexAndColons.test(lower) ? lower : undefined
}

const partOfDuid = (text: string): string | undefined => {
  const bare = text.toLowerCase().replace(duidSeparators, "")
  return hex.test(bare) ? bare : undefined
}

const partOfClient = (text: string): string | undefined => {
  const lower = canonicalMac(text) ?? text.toLowerCase().replace(dashes, ":")
  return hexAndColons.test(lower) ? lower : undefined
}

const whole = (kind: FieldKind, text: string): ValueResult => {
  if (typeof kind !== "string") {
    const lower = asciiLower(text)
    return orElse(kind.enum.find((value) => asciiLower(value) === lower), `one of ${kind.enum.join(", ")}`)
  }
  switch (kind) {
    case "mac":
      return orElse(canonicalMac(text), "a MAC address such as 02:bd:00:00:00:01")
    case "duid":
      return orElse(canonicalDuid(text), "a DUID as 3 to 130 octets in hex")
    case "client":
      return orElse(canonicalMac(text) ?? canonicalDuid(text), "a MAC address or a DUID in hex")
    default:
      return ok(text)
  }
}

const part = (kind: FieldKind, op: FilterOp, text: string): ValueResult => {
  switch (kind) {
    case "mac":
      return orElse(partOfMac(op, text), "part of a MAC address such as 02:bd")
    case "duid":
      return orElse(partOfDuid(text), "part of a DUID in hex")
    case "client":
      return orElse(partOfClient(text), "part of a MAC address or of a DUID in hex")
    default:
      return ok(text)
  }
}

const illFormed = /[\p{Surrogate}\0]/u

const textValue = (kind: FieldKind, op: FilterOp, input: unknown): ValueResult => {
  if (typeof input !== "string") return expected("a string")
  if (input === "") return expected(`a string that is not empty${forAbsent}`)
  if (op === "regex" && input.length > filterLimits.regex) return regex(input)
  if (input.length > filterLimits.text) return expected(`a string of at most ${filterLimits.text} characters`)
  if (illFormed.test(input)) return expected("text without NUL and lone surrogates")
  switch (op) {
    case "regex":
      return regex(input)
    case "oui":
      return orElse(canonicalOui(input), "an OUI such as 00:0c:01")
    case "contains":
    case "starts_with":
    case "ends_with":
      return part(kind, op, input)
    default:
      return whole(kind, input)
  }
}

const ipValue = (op: FilterOp, input: unknown): ValueResult => {
  if (typeof input !== "string") return expected("a string")
  if (op === "cidr") return orElse(parseCidr(input)?.text, "a network such as 192.0.2.0/24")
  const ip = canonicalIp(input)
  return ip === "0.0.0.0" || ip === "::"
    ? expected(`a specified address${forAbsent}`)
    : orElse(ip, "an IPv4 or IPv6 address")
}

/** ClickHouse's DateTime, which partitions and expires the tables, ends in 2106. */
const yearsHeld = /^(?:19[7-9]|20\d|210[0-5])/

const timeValue = (input: unknown): ValueResult => {
  const time = typeof input === "string" ? canonicalInstant(input) : undefined
  return time !== undefined && time.length === 24 && yearsHeld.test(time)
    ? ok(time)
    : expected("an RFC 3339 time from 1970 to 2105 such as 2026-01-31T08:00:00Z")
}

/** Brings a value of a rule on a field of this kind to its canonical form. */
export const canonicalValue = (kind: FieldKind, op: FilterOp, input: unknown): ValueResult => {
  if (op === "exists") return typeof input === "boolean" ? ok(input) : expected("true or false")
  switch (kind) {
    case "number":
      return typeof input === "number" && Math.abs(input) <= Number.MAX_SAFE_INTEGER
        ? ok(input)
        : expected("a number within ±9007199254740991")
    case "time":
      return timeValue(input)
    case "ip":
      return ipValue(op, input)
    default:
      return textValue(kind, op, input)
  }
}
