import type { DhcpEventEncoded } from "../../schema/DhcpEvent.ts"
import { canonicalIp } from "../../schema/Ip.ts"
import { canonicalMac } from "../../schema/Mac.ts"
import type { Datagram } from "./Datagram.ts"
import { readDhcpv4 } from "./Dhcpv4Message.ts"
import { readDhcpv6 } from "./Dhcpv6Message.ts"
import { octetsOf } from "./Octets.ts"

/**
 * The fields to ask of tshark. It reassembles and finds the DHCP message; the message itself is read here from its
 * octets, because tshark's flat fields don't tell a relay's options from the client's, nor one nested option's owner.
 */
export const tsharkFields = [
  "frame.protocols",
  "eth.src",
  "sll.src.eth",
  "ip.src",
  "ip.dst",
  "ipv6.src",
  "ipv6.dst",
  "udp.payload"
] as const

/** DHCP messages, but not those quoted in an ICMP error. */
export const tsharkDisplayFilter = "(dhcp || dhcpv6) && !icmp && !icmpv6"

/** The same in the kernel's terms, with and without a VLAN tag. */
export const dhcpPortsFilter = (() => {
  const ports = "udp port 67 or udp port 68 or udp port 546 or udp port 547"
  return `${ports} or (vlan and (${ports}))`
})()

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** A field's innermost value: in a tunnel, tshark lists the outer layers first. */
const innermost = (layers: Record<string, unknown>, field: string): string | undefined => {
  const values = layers[field]
  const value: unknown = Array.isArray(values) ? values.at(-1) : values
  return typeof value === "string" ? value : undefined
}

const parseLine = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** By the innermost protocols; `undefined` also for a message that an ICMP error quotes. */
const protocolOf = (protocols: ReadonlyArray<string>): Datagram["protocol"] | undefined => {
  if (protocols.includes("icmp") || protocols.includes("icmpv6")) return undefined
  if (protocols.includes("dhcpv6")) return "dhcpv6"
  return protocols.includes("dhcp") || protocols.includes("bootp") ? "dhcpv4" : undefined
}

/** The datagram in a line of `tshark -T ek`; `undefined` for its index lines and for what holds no DHCP message. */
export const readTsharkLine = (line: string): Datagram | undefined => {
  const packet = parseLine(line)
  if (!isRecord(packet) || !isRecord(packet["layers"])) return undefined
  const layers = packet["layers"]
  const time_ms = Number(packet["timestamp"])
  const payload = octetsOf(innermost(layers, "udp_payload") ?? "")
  if (!Number.isSafeInteger(time_ms) || payload === undefined || payload.length === 0) return undefined
  const protocol = protocolOf((innermost(layers, "frame_protocols") ?? "").split(":"))
  if (protocol === undefined) return undefined
  const family = protocol === "dhcpv6" ? "ipv6" : "ip"
  return {
    protocol,
    time_ms,
    linkSource: canonicalMac(innermost(layers, "eth_src") ?? innermost(layers, "sll_src_eth") ?? ""),
    ipSource: canonicalIp(innermost(layers, `${family}_src`) ?? ""),
    ipDestination: canonicalIp(innermost(layers, `${family}_dst`) ?? ""),
    payload
  }
}

/**
 * The event of a datagram, canonical as the schema would leave it; `undefined` for a message whose type we don't know
 * or that names no client.
 */
export const eventOfDatagram = (datagram: Datagram, source: string): DhcpEventEncoded | undefined => {
  const fields = datagram.protocol === "dhcpv4" ? readDhcpv4(datagram) : readDhcpv6(datagram)
  if (fields === undefined || (fields.client_mac === undefined && fields.duid === undefined)) return undefined
  const event: Record<string, unknown> = {
    event_time: new Date(datagram.time_ms).toISOString(),
    protocol: datagram.protocol
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== "") event[name] = value
  }
  event["source"] = source
  return event as unknown as DhcpEventEncoded
}
