import { Schema } from "effect"
import ipaddr from "ipaddr.js"

// ipaddr.js reads the IPv4-compatible form `::192.0.2.1` (RFC 4291 section 2.5.5.1) as the v4-mapped one.
const deprecatedCompatible = /^::\d{1,3}(?:\.\d{1,3}){3}$/
const compatible = (text: string): string => {
  const [a, b, c, d] = text.slice(2).split(".").map(Number) as [number, number, number, number]
  return `::${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

const parse = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (text.length > 45 || text.includes("%")) return undefined
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!text.includes(":") || !ipaddr.IPv6.isValid(text)) return undefined
  const six = ipaddr.IPv6.parse(deprecatedCompatible.test(text) ? compatible(text) : text)
  return six.isIPv4MappedAddress() ? six.toIPv4Address() : six
}

const format = (ip: ipaddr.IPv4 | ipaddr.IPv6): string =>
  ip instanceof ipaddr.IPv6 ? ip.toRFC5952String() : ip.toString()

const dottedQuad = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** Canonical text of an IPv4 or IPv6 address (RFC 5952; a v4-mapped address is its IPv4 one), else `undefined`. */
export const canonicalIp = (text: string): string | undefined => {
  if (dottedQuad.test(text)) return text
  const ip = parse(text)
  return ip === undefined ? undefined : format(ip)
}

/** An IPv4 or IPv6 address in canonical text. */
export const Ip = Schema.transform(
  Schema.String.pipe(Schema.filter((text) => canonicalIp(text) !== undefined || "Expected an IPv4 or IPv6 address"))
    .annotations({ description: "IPv4 or IPv6 address", examples: ["192.0.2.10"] }),
  Schema.String.pipe(Schema.brand("Ip")),
  { strict: true, decode: (text) => canonicalIp(text) ?? text, encode: (ip) => ip }
)
export type Ip = typeof Ip.Type

/** The 16 octets of an address; IPv4 in its v4-mapped form, so that both families share one order. */
export const ipOctets = (text: string): ReadonlyArray<number> | undefined => {
  const ip = parse(text)
  if (ip === undefined) return undefined
  return ip instanceof ipaddr.IPv4 ? ip.toIPv4MappedAddress().toByteArray() : ip.toByteArray()
}

/** A network as its first and last address, both as 16 octets (IPv4 in v4-mapped form). */
export interface IpRange {
  readonly first: ReadonlyArray<number>
  readonly last: ReadonlyArray<number>
}

/** The range and canonical text of a network: `address/prefix`, or a lone address; host bits are dropped. */
export const parseCidr = (text: string): (IpRange & { readonly text: string }) | undefined => {
  const [address, length, more] = text.split("/")
  const ip = address === undefined ? undefined : parse(address)
  if (ip === undefined || more !== undefined) return undefined
  const width = ip instanceof ipaddr.IPv4 ? 32 : 128
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined
  const prefix = length === undefined ? width : Number(length)
  if (prefix > width) return undefined
  const own = ip.toByteArray()
  const bits = (index: number) => Math.min(8, Math.max(0, prefix - index * 8))
  const low = own.map((octet, index) => octet & (0xff << (8 - bits(index))) & 0xff)
  const high = low.map((octet, index) => octet | (0xff >> bits(index)))
  const mapped = width === 32 ? [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] : []
  return {
    first: [...mapped, ...low],
    last: [...mapped, ...high],
    text: `${format(ipaddr.fromByteArray(low))}/${prefix}`
  }
}

/** Whether the range holds the address given as 16 octets. */
export const inRange = (range: IpRange, octets: ReadonlyArray<number>): boolean => {
  for (let i = 0; i < 16; i++) {
    if (octets[i]! !== range.first[i]!) {
      if (octets[i]! < range.first[i]!) return false
      break
    }
  }
  for (let i = 0; i < 16; i++) {
    if (octets[i]! !== range.last[i]!) {
      if (octets[i]! > range.last[i]!) return false
      break
    }
  }
  return true
}

/** An IPv4 or IPv6 network in canonical text, without host bits; a lone address is its own network. */
export const Cidr = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) => parseCidr(text) !== undefined || "Expected a network such as 192.0.2.0/24")
  )
    .annotations({ description: "IPv4 or IPv6 network in CIDR notation", examples: ["192.0.2.0/24"] }),
  Schema.String.pipe(Schema.brand("Cidr")),
  { strict: true, decode: (text) => parseCidr(text)?.text ?? text, encode: (cidr) => cidr }
)
export type Cidr = typeof Cidr.Type
