import { Schema } from "effect"
import { Duid } from "./Duid.ts"
import { Ip } from "./Ip.ts"
import { Mac } from "./Mac.ts"
import { Instant } from "./Time.ts"

export const protocols = ["dhcpv4", "dhcpv6"] as const
export const Protocol = Schema.Literal(...protocols).annotations({ description: "DHCP version" })
export type Protocol = typeof Protocol.Type

/** Message types that a client originates, by protocol: each event of one of these is a *request*. */
export const requestTypes = {
  dhcpv4: ["discover", "request", "decline", "release", "inform"],
  dhcpv6: ["solicit", "request", "confirm", "renew", "rebind", "release", "decline", "information-request"]
} as const

/** Message types that a server or relay originates, by protocol. */
export const answerTypes = {
  dhcpv4: ["offer", "ack", "nak"],
  dhcpv6: ["advertise", "reply", "reconfigure", "relay-forw", "relay-repl"]
} as const

/** Kea's names of the DHCPv4 (RFC 2131) and DHCPv6 (RFC 8415) message types. */
export const messageTypes = [
  "discover",
  "offer",
  "request",
  "ack",
  "nak",
  "decline",
  "release",
  "inform",
  "solicit",
  "advertise",
  "confirm",
  "renew",
  "rebind",
  "reply",
  "reconfigure",
  "information-request",
  "relay-forw",
  "relay-repl"
] as const
export const MessageType = Schema.Literal(...messageTypes).annotations({ description: "DHCP message type" })
export type MessageType = typeof MessageType.Type

const requests: ReadonlySet<string> = new Set([...requestTypes.dhcpv4, ...requestTypes.dhcpv6])

/** Whether a client originates messages of this type. */
export const isRequest = (type: string): boolean => requests.has(type)

/** Longest text field of an event, in UTF-16 units. */
export const textLengthMax = 1024

const text = (description: string) =>
  Schema.optionalWith(
    Schema.String.pipe(
      Schema.maxLength(textLengthMax),
      Schema.filter((text) =>
        (!/\p{Surrogate}/u.test(text) && !text.includes("\0")) || "Expected text without NUL and lone surrogates"
      )
    ).annotations({ description }),
    { exact: true }
  )
const ip = (description: string) => Schema.optionalWith(Ip.annotations({ description }), { exact: true })
const uint32 = (description: string) =>
  Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 0xffff_ffff)).annotations({ description }), { exact: true })

/**
 * One observed DHCP message, as ingested, stored and listed. Absent fields are left out; an empty text, `0.0.0.0` and
 * `::` are taken as absent. Field names are Kea's words.
 */
export const DhcpEventFields = Schema.Struct({
  event_time: Instant,
  protocol: Protocol,
  message_type: MessageType,
  client_mac: Schema.optionalWith(Mac, { exact: true }),
  client_id: text("DHCPv4 client identifier (option 61) in hex"),
  duid: Schema.optionalWith(Duid, { exact: true }),
  iaid: uint32("identity association id (RFC 8415)"),
  hostname: text("host name (option 12, 81 or DHCPv6 39)"),
  vendor_class: text("vendor class (option 60 or DHCPv6 16)"),
  user_class: text("user class (option 77 or DHCPv6 15)"),
  fingerprint: text("codes of option 55 or of the option request option, in order: `1,28,2`"),
  requested_ip: ip("address the client asks for (option 50, IAADDR in a request)"),
  assigned_ip: ip("address the server gives (yiaddr, IAADDR in an answer)"),
  client_ip: ip("address the client already has (ciaddr)"),
  server_ip: ip("address of the server (option 54, else the sender of an answer)"),
  relay_ip: ip("address of the relay (giaddr, link-address)"),
  circuit_id: text("relay agent circuit id (option 82.1, DHCPv6 interface id)"),
  remote_id: text("relay agent remote id (option 82.2, DHCPv6 37)"),
  subscriber_id: text("relay agent subscriber id (option 82.6, DHCPv6 38)"),
  transaction_id: text("transaction id (xid) in lower-case hex"),
  lease_seconds: uint32("lease time, valid lifetime in DHCPv6, in seconds"),
  source: text("where the event was observed: a capture, an interface, a server")
})

/** An event must say whose it is. */
export const DhcpEvent = DhcpEventFields.pipe(
  Schema.filter((event) =>
    event.client_mac !== undefined || event.duid !== undefined || "Expected client_mac or duid: whose message it is"
  )
).annotations({ identifier: "DhcpEvent", description: "One observed DHCP message" })
export type DhcpEvent = typeof DhcpEvent.Type
export type DhcpEventEncoded = typeof DhcpEvent.Encoded

/** By what a client is known: its MAC, or its DUID where no MAC is extractable. */
export const clientOf = (event: Pick<DhcpEvent, "client_mac" | "duid">): string => event.client_mac ?? event.duid ?? ""
