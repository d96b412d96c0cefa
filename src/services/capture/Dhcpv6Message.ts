import { canonicalDuid, macOfDuid } from "../../schema/Duid.ts"
import type { Datagram, MessageFields } from "./Datagram.ts"
import { dnsNameOf, hexOf, ipOf, itemsOf, macOf, textOf, uint16sOf, uint32Of } from "./Octets.ts"

const types = [
  "solicit",
  "advertise",
  "request",
  "confirm",
  "renew",
  "rebind",
  "reply",
  "release",
  "decline",
  "reconfigure",
  "information-request"
] as const
const answers: ReadonlySet<string> = new Set(["advertise", "reply", "reconfigure"])
const relayForward = 12
const relayReply = 13

/** Codes of RFC 8415, 4580, 4649, 4704, 6939. */
const code = {
  clientId: 1,
  iaNa: 3,
  iaTa: 4,
  address: 5,
  optionRequest: 6,
  relayMessage: 9,
  serverUnicast: 12,
  userClass: 15,
  vendorClass: 16,
  interfaceId: 18,
  iaPd: 25,
  remoteId: 37,
  subscriberId: 38,
  fqdn: 39,
  linkLayer: 79
} as const

interface Option {
  readonly code: number
  readonly value: Uint8Array
}

const readOptions = (area: Uint8Array): ReadonlyArray<Option> => {
  const options: Array<Option> = []
  let at = 0
  while (at + 4 <= area.length) {
    const length = (area[at + 2]! << 8) | area[at + 3]!
    if (at + 4 + length > area.length) break
    options.push({ code: (area[at]! << 8) | area[at + 1]!, value: area.subarray(at + 4, at + 4 + length) })
    at += 4 + length
  }
  return options
}

const valueOf = (options: ReadonlyArray<Option>, code: number) => options.find((option) => option.code === code)?.value

/** Relays nest at most this deep (HOP_COUNT_LIMIT, RFC 8415 section 7.6). */
const hopsMax = 8

/** One relay's header and options; the first in a list is the one next to the server. */
interface Relay {
  readonly linkAddress: string | undefined
  readonly options: ReadonlyArray<Option>
}

/** The message inside the relays around it; `undefined` when they hold none. */
const unwrap = (payload: Uint8Array) => {
  const relays: Array<Relay> = []
  let message = payload
  while (message[0] === relayForward || message[0] === relayReply) {
    if (relays.length === hopsMax) return undefined
    const options = readOptions(message.subarray(34))
    const inner = valueOf(options, code.relayMessage)
    if (inner === undefined) return undefined
    relays.push({ linkAddress: ipOf(message.subarray(2, 18)), options })
    message = inner
  }
  return { message, relays }
}

/** The relay option nearest to the client, where several relays set it. */
const nearest = (relays: ReadonlyArray<Relay>, code: number) => {
  for (let i = relays.length - 1; i >= 0; i--) {
    const value = valueOf(relays[i]!.options, code)
    if (value !== undefined) return value
  }
  return undefined
}

/**
 * The first address of the IA_NA and IA_TA options and its valid lifetime; one that is still valid is preferred to one
 * that the server withdraws with a lifetime of 0.
 */
const addressOf = (options: ReadonlyArray<Option>) => {
  const addresses = options
    .filter((option) => option.code === code.iaNa || option.code === code.iaTa)
    .flatMap((ia) => readOptions(ia.value.subarray(ia.code === code.iaNa ? 12 : 4)))
    .filter((option) => option.code === code.address && option.value.length >= 24)
    .map(({ value }) => ({ ip: ipOf(value.subarray(0, 16)), valid: uint32Of(value.subarray(20)) }))
    .filter(({ ip }) => ip !== undefined)
  return addresses.find(({ valid }) => valid !== 0) ?? addresses[0]
}

const iaidOf = (options: ReadonlyArray<Option>) =>
  uint32Of(valueOf(options, code.iaNa) ?? valueOf(options, code.iaTa) ?? valueOf(options, code.iaPd))

/** RFC 6939: a hardware type in 2 octets, then the address. */
const linkLayerOf = (option: Uint8Array | undefined) =>
  option !== undefined && option[0] === 0 && (option[1] === 1 || option[1] === 6)
    ? macOf(option.subarray(2))
    : undefined

/** Whether the frame was sent by the client itself: what goes to or from a link-local address no router passes on. */
const isFirstHop = ({ ipDestination, ipSource }: Datagram) =>
  ipDestination?.startsWith("ff02:") === true || ipSource?.startsWith("fe80:") === true

const clientMacOf = (datagram: Datagram, relays: ReadonlyArray<Relay>, duid: string | undefined, answer: boolean) =>
  (duid === undefined ? undefined : macOfDuid(duid)) ??
    linkLayerOf(nearest(relays, code.linkLayer)) ??
    (!answer && relays.length === 0 && isFirstHop(datagram) ? datagram.linkSource : undefined)

/** The address that tells the client's link; a layer-2 relay (RFC 6221) has none, then the relay's own. */
const relayAddressOf = ({ ipDestination, ipSource, payload }: Datagram, relays: ReadonlyArray<Relay>) => {
  if (relays.length === 0) return undefined
  return relays.findLast((relay) => relay.linkAddress !== undefined)?.linkAddress ??
    (payload[0] === relayForward ? ipSource : ipDestination)
}

/**
 * The fields of a DHCPv6 message (RFC 8415), of the inner one if it is relayed. An event has one address: of several
 * IAADDRs the first. Prefixes (IA_PD) are no addresses. `undefined` for types beyond RFC 8415 and for a torso.
 */
export const readDhcpv6 = (datagram: Datagram): MessageFields | undefined => {
  const unwrapped = unwrap(datagram.payload)
  if (unwrapped === undefined || unwrapped.message.length < 4) return undefined
  const { message, relays } = unwrapped
  const message_type = types[message[0]! - 1]
  if (message_type === undefined) return undefined
  const answer = answers.has(message_type)
  const options = readOptions(message.subarray(4))
  const clientId = valueOf(options, code.clientId)
  const duid = clientId === undefined ? undefined : canonicalDuid(hexOf(clientId))
  const address = addressOf(options)
  const optionRequest = valueOf(options, code.optionRequest)
  return {
    message_type,
    client_mac: clientMacOf(datagram, relays, duid, answer),
    client_id: undefined,
    duid,
    iaid: iaidOf(options),
    hostname: dnsNameOf(valueOf(options, code.fqdn)?.subarray(1) ?? new Uint8Array()),
    vendor_class: itemsOf(valueOf(options, code.vendorClass)?.subarray(4) ?? new Uint8Array(), 2),
    user_class: itemsOf(valueOf(options, code.userClass) ?? new Uint8Array(), 2),
    fingerprint: optionRequest === undefined ? undefined : uint16sOf(optionRequest).join(","),
    requested_ip: answer ? undefined : address?.ip,
    assigned_ip: answer ? address?.ip : undefined,
    client_ip: undefined,
    server_ip: answer
      ? ipOf(valueOf(options, code.serverUnicast)) ?? (relays.length === 0 || datagram.payload[0] === relayReply
        ? datagram.ipSource
        : undefined)
      : undefined,
    relay_ip: relayAddressOf(datagram, relays),
    circuit_id: textOf(nearest(relays, code.interfaceId)),
    remote_id: textOf(nearest(relays, code.remoteId)?.subarray(4)),
    subscriber_id: textOf(nearest(relays, code.subscriberId)),
    transaction_id: hexOf(message.subarray(1, 4)),
    lease_seconds: address?.valid
  }
}
