import { Either, ParseResult, Schema } from "effect"
import { FirewallEvent } from "../schema/FirewallEvent.ts"
import { lineLengthMax, messageLengthMax } from "./DhcpEventLine.ts"

const text = "expected text of at most 256 characters without NUL and lone surrogates"
const address = "expected an IPv4 or IPv6 address"
const port = "expected a port from 0 to 65535"

const expectations: Readonly<Record<keyof typeof FirewallEvent.fields, string>> = {
  event_time: "expected an RFC 3339 time such as 2026-01-31T08:00:00Z",
  action: "expected allow, drop or reject",
  direction: "expected in or out",
  src_ip: address,
  dst_ip: address,
  protocol: text,
  src_port: port,
  dst_port: port,
  interface: text,
  rule: text,
  bytes: "expected a number of octets",
  source: text
}

const decode = Schema.decodeUnknownEither(FirewallEvent, { errors: "all", onExcessProperty: "error" })

const messageOf = ({ _tag, path: [name] }: ParseResult.ArrayFormatterIssue): string => {
  if (name === undefined) return "expected a JSON object on one line"
  const expected = (expectations as Readonly<Record<string, string>>)[String(name)]
  const field = JSON.stringify(String(name).slice(0, 40)).slice(1, -1)
  if (_tag === "Missing") return `${field}: is missing`
  return Object.hasOwn(expectations, name) ? `${field}: ${expected}` : `${field}: is not a field of an event`
}

const refuse = (messages: ReadonlyArray<string>): Either.Either<never, string> =>
  Either.left([...new Set(messages)].join("; ").slice(0, messageLengthMax).replace(/[\ud800-\udbff]$/, ""))

/** The event in one line of NDJSON; null is absent. A refusal names each wrong field and never tells the values. */
export const decodeFirewallEventLine = (line: string): Either.Either<FirewallEvent, string> => {
  if (line.length > lineLengthMax) return refuse([`expected a line of at most ${lineLengthMax} octets`])
  let json: unknown
  try {
    json = JSON.parse(line, (_, value: unknown) => value === null ? undefined : value)
  } catch {
    return refuse(["expected a JSON object on one line"])
  }
  return Either.orElse(
    decode(json),
    (error) => refuse(ParseResult.ArrayFormatter.formatErrorSync(error).map(messageOf))
  )
}
