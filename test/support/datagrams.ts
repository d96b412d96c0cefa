import type { Datagram } from "../../src/services/capture/Datagram.ts"

/** Octets from hex with blanks between. */
export const hex = (text: string): Uint8Array => Buffer.from(text.replace(/\s/g, ""), "hex")

/** Octets of ASCII text. */
export const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")

const uint16 = (value: number) => Uint8Array.of(value >> 8, value & 255)
const uint32 = (value: number) => Uint8Array.of(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255)

/** A DHCPv6 option. */
export const option6 = (code: number, ...value: ReadonlyArray<Uint8Array>): Uint8Array => {
  const body = Buffer.concat(value)
  return Buffer.concat([uint16(code), uint16(body.length), body])
}

/** A DHCPv6 message of the client or the server. */
export const message6 = (type: number, xid: string, ...options: ReadonlyArray<Uint8Array>): Uint8Array =>
  Buffer.concat([Uint8Array.of(type), hex(xid), ...options])

/** The octets of an IPv6 address given in full. */
export const ip6 = (groups: string): Uint8Array => hex(groups.replaceAll(":", ""))

/** A RELAY-FORW (12) or RELAY-REPL (13). */
export const relay6 = (
  type: 12 | 13,
  link: Uint8Array,
  peer: Uint8Array,
  ...options: ReadonlyArray<Uint8Array>
): Uint8Array => Buffer.concat([Uint8Array.of(type, 0), link, peer, ...options])

/** An IA_NA with its addresses. */
export const iaNa = (iaid: number, ...addresses: ReadonlyArray<readonly [ip: Uint8Array, valid_s: number]>) =>
  option6(
    3,
    uint32(iaid),
    uint32(0),
    uint32(0),
    ...addresses.map(([ip, valid]) => option6(5, ip, uint32(valid), uint32(valid)))
  )

/** A DHCPv4 option. */
export const option4 = (code: number, value: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(code, value.length), value])

/** A DHCPv4 message; addresses in hex. */
export const message4 = (
  header: {
    readonly op: 1 | 2
    readonly chaddr?: string
    readonly hlen?: number
    readonly ciaddr?: string
    readonly yiaddr?: string
    readonly giaddr?: string
  },
  ...options: ReadonlyArray<Uint8Array>
): Uint8Array => {
  const fixed = Buffer.alloc(236)
  const { chaddr = "000c01020304", ciaddr = "", giaddr = "", hlen = 6, op, yiaddr = "" } = header
  fixed.set([op, 1, hlen, 0, 0xde, 0xad, 0xbe, 0xef])
  fixed.set(hex(ciaddr), 12)
  fixed.set(hex(yiaddr), 16)
  fixed.set(hex(giaddr), 24)
  fixed.set(hex(chaddr), 28)
  return Buffer.concat([fixed, hex("63825363"), ...options, Uint8Array.of(255)])
}

/** A datagram around a message, as from a client on the link unless said otherwise. */
export const datagram = (
  protocol: Datagram["protocol"],
  payload: Uint8Array,
  more: Partial<Datagram> = {}
): Datagram => ({
  protocol,
  time_ms: Date.UTC(2026, 0, 31, 8),
  linkSource: "aa:bb:cc:00:00:01",
  ipSource: protocol === "dhcpv4" ? "0.0.0.0" : "fe80::1",
  ipDestination: protocol === "dhcpv4" ? "255.255.255.255" : "ff02::1:2",
  payload,
  ...more
})

/** A pcap file (Ethernet) of UDP datagrams over IPv6, as big as tshark needs to decode them. */
export const pcap6 = (payloads: ReadonlyArray<Uint8Array>): Uint8Array => {
  const frames = payloads.flatMap((payload, index) => {
    const udp = Buffer.concat([uint16(547), uint16(547), uint16(8 + payload.length), uint16(0), payload])
    const frame = Buffer.concat([
      hex("0200000000aa aabbcc000001 86dd 60000000"),
      uint16(udp.length),
      hex("1140"),
      ip6("20010db8000000000000000000000011"),
      ip6("20010db8000000000000000000000022"),
      udp
    ])
    const record = Buffer.alloc(16)
    record.writeUInt32LE(1_700_000_000 + index, 0)
    record.writeUInt32LE(frame.length, 8)
    record.writeUInt32LE(frame.length, 12)
    return [record, frame]
  })
  return Buffer.concat([hex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000"), ...frames])
}
