import { Either, ParseResult, Schema } from "effect"
import {
  answerTypes,
  DhcpEvent,
  type DhcpEventEncoded,
  type Protocol,
  requestTypes,
  textLengthMax
} from "../schema/DhcpEvent.ts"
import { canonicalDuid, macOfDuid } from "../schema/Duid.ts"
import { canonicalIp } from "../schema/Ip.ts"
import { canonicalMac } from "../schema/Mac.ts"
import { canonicalInstant } from "../schema/Time.ts"
import { isCanonicalIpv6 } from "./CanonicalIpv6.ts"

/** Longest line, in octets of UTF-8 as it is read and in UTF-16 units as it is decoded. */
export const lineLengthMax = 65_536

/** Longest message about a refused line, in UTF-16 units. */
export const messageLengthMax = 500

const expectations = {
  event_time: "expected an RFC 3339 time such as 2026-01-31T08:00:00Z",
  protocol: "expected dhcpv4 or dhcpv6",
  message_type: "expected a DHCP message type such as discover or solicit",
  mac: "expected a MAC address such as 02:bd:00:00:00:01",
  duid: "expected a DUID as 3 to 130 octets in hex",
  ip: "expected an IPv4 or IPv6 address",
  uint32: "expected an integer from 0 to 4294967295",
  text: `expected text of at most ${textLengthMax} characters without NUL and lone surrogates`
} as const
type Kind = keyof typeof expectations

const kinds: { readonly [K in keyof DhcpEventEncoded]-?: Kind } = {
  event_time: "event_time",
  protocol: "protocol",
  message_type: "message_type",
  client_mac: "mac",
  client_id: "text",
  duid: "duid",
  iaid: "uint32",
  hostname: "text",
  vendor_class: "text",
  user_class: "text",
  fingerprint: "text",
  requested_ip: "ip",
  assigned_ip: "ip",
  client_ip: "ip",
  server_ip: "ip",
  relay_ip: "ip",
  circuit_id: "text",
  remote_id: "text",
  subscriber_id: "text",
  transaction_id: "text",
  lease_seconds: "uint32",
  source: "text"
}
const fieldKinds = new Map<string, Kind>(Object.entries(kinds))

const typesOf: { readonly [K in Protocol]?: ReadonlySet<unknown> } = {
  dhcpv4: new Set([...requestTypes.dhcpv4, ...answerTypes.dhcpv4]),
  dhcpv6: new Set([...requestTypes.dhcpv6, ...answerTypes.dhcpv6])
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const lowerHex = /^[0-9a-f]+$/
const timeOfDay = /^T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
let knownDate = ""

/** As `canonicalInstant`, but a date that was good once isn't parsed again: lines that come together share theirs. */
const canonicalInstantFast = (text: string): string | undefined => {
  if (text.length === 24 && text.startsWith(knownDate) && knownDate !== "" && timeOfDay.test(text.slice(10))) {
    return text
  }
  const instant = canonicalInstant(text)
  if (instant !== undefined && instant === text) knownDate = text.slice(0, 10)
  return instant
}

const canonicalDuidFast = (text: string): string | undefined =>
  text.length >= 6 && text.length <= 260 && text.length % 2 === 0 && lowerHex.test(text) ? text : canonicalDuid(text)

const canonicalIpFast = (text: string): string | undefined => isCanonicalIpv6(text) ? text : canonicalIp(text)

/** What stands for an absent value: null, an empty text, an unspecified address. */
const isAbsent = (kind: Kind, value: unknown): boolean =>
  value === null || value === "" ||
  (kind === "ip" && typeof value === "string" && (value === "0.0.0.0" || value === "::" || isUnspecified(value)))

const isUnspecified = (text: string): boolean => {
  if (!/^[0:.f]+$/i.test(text)) return false
  const ip = canonicalIp(text)
  return ip === "0.0.0.0" || ip === "::"
}

const hexadecimal = /^(?:0x)?[0-9a-f]+$/i

const transactionId = (text: string): string =>
  lowerHex.test(text) ? text : hexadecimal.test(text) ? text.toLowerCase().replace(/^0x/, "") : text

const isText = (text: string): boolean =>
  text.length <= textLengthMax &&
  (!/[\0\ud800-\udfff]/.test(text) || (!text.includes("\0") && !/\p{Surrogate}/u.test(text)))

/** The canonical value, `undefined` when the schema wouldn't accept the given one. */
const canonical = (kind: Kind, value: unknown): unknown => {
  if (kind === "uint32") {
    return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff
      ? value
      : undefined
  }
  if (typeof value !== "string") return undefined
  switch (kind) {
    case "event_time":
      return canonicalInstantFast(value)
    case "protocol":
      return value === "dhcpv4" || value === "dhcpv6" ? value : undefined
    case "message_type":
      return value
    case "mac":
      return canonicalMac(value)
    case "duid":
      return canonicalDuidFast(value)
    case "ip":
      return canonicalIpFast(value)
    case "text":
      return isText(value) ? value : undefined
  }
}

/** The event of good JSON in one pass; `undefined` when anything is amiss, which the schema then names. */
const fast = (json: Json): DhcpEvent | undefined => {
  const event: Record<string, unknown> = {}
  for (const name in json) {
    const kind = fieldKinds.get(name)
    if (kind === undefined) return undefined
    const given = json[name]
    if (isAbsent(kind, given)) continue
    const value = canonical(kind, given)
    if (value === undefined) return undefined
    event[name] = name === "transaction_id" ? transactionId(value as string) : value
  }
  return event["event_time"] === undefined || event["message_type"] === undefined ? undefined : ownerOf(event)
}

/** Adds the MAC that a DUID holds; refuses a message type of the other protocol and an event that is nobody's. */
const ownerOf = (event: Record<string, unknown>): DhcpEvent | undefined => {
  const types = typesOf[event["protocol"] as Protocol]
  if (types === undefined || !types.has(event["message_type"])) return undefined
  if (event["client_mac"] === undefined) {
    if (event["duid"] === undefined) return undefined
    const mac = event["protocol"] === "dhcpv6" ? macOfDuid(event["duid"] as string) : undefined
    if (mac !== undefined) event["client_mac"] = mac
  }
  return event as DhcpEvent
}

const strict = Schema.decodeUnknownEither(DhcpEvent, {
  errors: "all",
  onExcessProperty: "error"
})

const messageOf = (issue: ParseResult.ArrayFormatterIssue): string => {
  const name = issue.path[0]
  if (name === undefined) return "expected client_mac or duid: whose message it is"
  const field = JSON.stringify(String(name).slice(0, 40)).slice(1, -1)
  const kind = fieldKinds.get(String(name))
  if (issue._tag === "Missing") return `${field}: is missing`
  return kind === undefined ? `${field}: is not a field of an event` : `${field}: ${expectations[kind]}`
}

const refuse = (messages: ReadonlyArray<string>): Either.Either<never, string> => {
  const text = [...new Set(messages)].join("; ")
  return Either.left(
    text.length > messageLengthMax ? `${text.slice(0, messageLengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…` : text
  )
}

/**
 * The event of parsed JSON by the schema alone, some ten times slower than `decodeEvent` and equal to it: the measure
 * that the fast path is held to, and the source of the messages.
 */
export const decodeEventBySchema = (json: unknown): Either.Either<DhcpEvent, string> => {
  if (!isObject(json)) return refuse(["expected a JSON object"])
  const present = Object.fromEntries(
    Object.entries(json).filter(([name, value]) => {
      const kind = fieldKinds.get(name)
      return kind === undefined || !isAbsent(kind, value)
    })
  )
  const decoded = strict(present)
  if (Either.isLeft(decoded)) return refuse(ParseResult.ArrayFormatter.formatErrorSync(decoded.left).map(messageOf))
  const event: Record<string, unknown> = { ...decoded.right }
  if (decoded.right.transaction_id !== undefined) event["transaction_id"] = transactionId(decoded.right.transaction_id)
  const owned = ownerOf(event)
  return owned === undefined
    ? refuse([`message_type: is not one of ${decoded.right.protocol}`])
    : Either.right(owned)
}

/**
 * The canonical event of parsed JSON. Null, empty texts and unspecified addresses are absent; a DHCPv6 event without
 * client_mac gets the one its DUID holds; the transaction id loses `0x` and capitals. A refusal names each field that
 * is wrong, in at most 500 characters, and never tells the values.
 */
export const decodeEvent = (json: unknown): Either.Either<DhcpEvent, string> => {
  const event = isObject(json) ? fast(json) : undefined
  return event === undefined ? decodeEventBySchema(json) : Either.right(event)
}

/** The event in one line of NDJSON, as `decodeEvent`; of a key that comes twice the last counts. */
export const decodeEventLine = (line: string): Either.Either<DhcpEvent, string> => {
  if (line.length > lineLengthMax) return refuse([`expected a line of at most ${lineLengthMax} octets`])
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch {
    return refuse(["expected a JSON object on one line"])
  }
  return decodeEvent(json)
}
