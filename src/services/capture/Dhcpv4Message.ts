import { canonicalDuid, macOfDuid } from "../../schema/Duid.ts"
import type { Datagram, MessageFields } from "./Datagram.ts"
import { dnsNameOf, hexOf, ipOf, itemsOf, macOf, textOf, uint32Of } from "./Octets.ts"

const types = ["discover", "offer", "request", "decline", "ack", "nak", "release", "inform"] as const
const answers: ReadonlySet<string> = new Set(["offer", "ack", "nak"])
const cookie = "63825363"

/** Codes of RFC 2132, 3004, 3046, 4702. */
const code = {
  pad: 0,
  hostname: 12,
  requestedAddress: 50,
  leaseTime: 51,
  overload: 52,
  messageType: 53,
  serverId: 54,
  parameterList: 55,
  vendorClass: 60,
  clientId: 61,
  userClass: 77,
  fqdn: 81,
  relayAgent: 82,
  end: 255
} as const

type Options = Map<number, Uint8Array>

/** Adds the options of one area; a code that comes again continues the first (RFC 3396). */
const readOptions = (area: Uint8Array, into: Options): void => {
  let at = 0
  while (at < area.length && area[at] !== code.end) {
    if (area[at] === code.pad) {
      at++
      continue
    }
    const length = area[at + 1]
    if (length === undefined || at + 2 + length > area.length) return
    const value = area.subarray(at + 2, at + 2 + length)
    const earlier = into.get(area[at]!)
    into.set(area[at]!, earlier === undefined ? value : Buffer.concat([earlier, value]))
    at += 2 + length
  }
}

const optionsOf = (payload: Uint8Array): Options => {
  const options: Options = new Map()
  readOptions(payload.subarray(240), options)
  const overload = options.get(code.overload)?.[0] ?? 0
  if ((overload & 1) === 1) readOptions(payload.subarray(108, 236), options)
  if ((overload & 2) === 2) readOptions(payload.subarray(44, 108), options)
  return options
}

/** Option 81 (RFC 4702 section 2): flags, two result codes, then the name in DNS wire form or in deprecated ASCII. */
const fqdnOf = (octets: Uint8Array | undefined): string | undefined => {
  if (octets === undefined || octets.length < 4) return undefined
  const name = octets.subarray(3)
  return (octets[0]! & 4) === 4 ? dnsNameOf(name) : textOf(name)
}

/** The DUID and IAID of a client identifier of type 255 (RFC 4361 section 6.1). */
const duidOf = (clientId: Uint8Array | undefined) => {
  if (clientId === undefined || clientId[0] !== 255 || clientId.length < 8) return undefined
  const duid = canonicalDuid(hexOf(clientId.subarray(5)))
  return duid === undefined ? undefined : { duid, iaid: uint32Of(clientId.subarray(1)) }
}

/** The MAC by the hardware address, else by the client identifier (RFC 2132 section 9.14, RFC 4361). */
const clientMacOf = (payload: Uint8Array, clientId: Uint8Array | undefined, duid: string | undefined) => {
  const ethernet = payload[1] === 1 || payload[1] === 6
  const hardware = ethernet && payload[2] === 6 ? macOf(payload.subarray(28, 34)) : undefined
  return hardware ?? (clientId?.[0] === 1 ? macOf(clientId.subarray(1)) : undefined) ??
    (duid === undefined ? undefined : macOfDuid(duid))
}

/** The fields of a DHCPv4 message (RFC 2131); `undefined` for BOOTP, for types beyond RFC 2131 and for a torso. */
export const readDhcpv4 = ({ ipSource, payload }: Datagram): MessageFields | undefined => {
  if (payload.length < 241 || hexOf(payload.subarray(236, 240)) !== cookie) return undefined
  const options = optionsOf(payload)
  const message_type = types[(options.get(code.messageType)?.[0] ?? 0) - 1]
  if (message_type === undefined) return undefined
  const answer = answers.has(message_type)
  const clientId = options.get(code.clientId)
  const identity = duidOf(clientId)
  const relay: Options = new Map()
  readOptions(options.get(code.relayAgent) ?? new Uint8Array(), relay)
  const userClass = options.get(code.userClass)
  return {
    message_type,
    client_mac: clientMacOf(payload, clientId, identity?.duid),
    client_id: clientId === undefined ? undefined : hexOf(clientId),
    duid: identity?.duid,
    iaid: identity?.iaid,
    hostname: textOf(options.get(code.hostname)) ?? fqdnOf(options.get(code.fqdn)),
    vendor_class: textOf(options.get(code.vendorClass)),
    user_class: userClass === undefined ? undefined : itemsOf(userClass, 1) ?? textOf(userClass),
    fingerprint: options.get(code.parameterList)?.join(","),
    requested_ip: ipOf(options.get(code.requestedAddress)),
    assigned_ip: answer ? ipOf(payload.subarray(16, 20)) : undefined,
    client_ip: ipOf(payload.subarray(12, 16)),
    server_ip: ipOf(options.get(code.serverId)) ?? (answer ? ipSource : undefined),
    relay_ip: ipOf(payload.subarray(24, 28)),
    circuit_id: textOf(relay.get(1)),
    remote_id: textOf(relay.get(2)),
    subscriber_id: textOf(relay.get(6)),
    transaction_id: hexOf(payload.subarray(4, 8)),
    lease_seconds: uint32Of(options.get(code.leaseTime))
  }
}
