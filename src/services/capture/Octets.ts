import { textLengthMax } from "../../schema/DhcpEvent.ts"
import { canonicalIp } from "../../schema/Ip.ts"

const digits = "0123456789abcdef"

/** Lower-case hex without separators. */
export const hexOf = (octets: Uint8Array): string => {
  let hex = ""
  for (const octet of octets) hex += digits[octet >> 4]! + digits[octet & 15]!
  return hex
}

/** The octets of hex digits, colons between them allowed; `undefined` when it is no hex. */
export const octetsOf = (hex: string): Uint8Array | undefined => {
  const bare = hex.includes(":") ? hex.replaceAll(":", "") : hex
  const octets = Buffer.from(bare, "hex")
  return octets.length * 2 === bare.length ? octets : undefined
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * What an option of free octets says: its text where it is printable UTF-8 (a trailing NUL, which some clients send,
 * is dropped), else `0x` and hex; cut to the length that an event may carry. `undefined` when there is nothing.
 */
export const textOf = (octets: Uint8Array | undefined): string | undefined => {
  if (octets === undefined) return undefined
  let end = octets.length
  while (end > 0 && octets[end - 1] === 0) end--
  if (end === 0) return octets.length === 0 ? undefined : `0x${hexOf(octets)}`.slice(0, textLengthMax)
  try {
    const text = utf8.decode(octets.subarray(0, end))
    if (!/\p{C}/u.test(text)) return text.slice(0, textLengthMax).replace(/[\ud800-\udbff]$/, "")
  } catch {
    // Not UTF-8: told in hex below.
  }
  return `0x${hexOf(octets)}`.slice(0, textLengthMax)
}

/** Text of an IPv4 or IPv6 address by its 4 or 16 octets; `undefined` for the unspecified address and other lengths. */
export const ipOf = (octets: Uint8Array | undefined): string | undefined => {
  if (octets === undefined || octets.every((octet) => octet === 0)) return undefined
  if (octets.length === 4) return octets.join(".")
  if (octets.length !== 16) return undefined
  return canonicalIp(hexOf(octets).match(/..../g)!.join(":"))
}

/** The colon form of 6 octets; `undefined` for another length and for all zeros. */
export const macOf = (octets: Uint8Array | undefined): string | undefined =>
  octets === undefined || octets.length !== 6 || octets.every((octet) => octet === 0)
    ? undefined
    : hexOf(octets).match(/../g)!.join(":")

/** The big-endian unsigned 32-bit number at the start; `undefined` when there are fewer than 4 octets. */
export const uint32Of = (octets: Uint8Array | undefined): number | undefined =>
  octets === undefined || octets.length < 4
    ? undefined
    : ((octets[0]! << 24) | (octets[1]! << 16) | (octets[2]! << 8) | octets[3]!) >>> 0

/** The big-endian unsigned 16-bit numbers, an odd last octet left out. */
export const uint16sOf = (octets: Uint8Array): ReadonlyArray<number> => {
  const numbers: Array<number> = []
  for (let i = 0; i + 1 < octets.length; i += 2) numbers.push((octets[i]! << 8) | octets[i + 1]!)
  return numbers
}

/** A name in DNS wire form (RFC 1035 section 3.1, no compression) with dots; stops at the end or a bad label. */
export const dnsNameOf = (octets: Uint8Array): string | undefined => {
  const labels: Array<string> = []
  for (let at = 0; at < octets.length && octets[at]! > 0 && octets[at]! < 64; at += octets[at]! + 1) {
    const label = textOf(octets.subarray(at + 1, at + 1 + octets[at]!))
    if (label === undefined) break
    labels.push(label)
  }
  return labels.length === 0 ? undefined : labels.join(".").slice(0, textLengthMax)
}

/** Items that each stand behind a length of `width` octets, as text joined by commas; `undefined` if they don't fit. */
export const itemsOf = (octets: Uint8Array, width: 1 | 2): string | undefined => {
  const items: Array<string> = []
  let at = 0
  while (at < octets.length) {
    const length = width === 1 ? octets[at]! : ((octets[at]! << 8) | (octets[at + 1] ?? 0))
    const end = at + width + length
    if (length === 0 || end > octets.length) return undefined
    items.push(textOf(octets.subarray(at + width, end)) ?? "")
    at = end
  }
  return items.length === 0 ? undefined : items.join(",").slice(0, textLengthMax)
}
