import { Schema } from "effect"
import { canonicalMac } from "./Mac.ts"

/** Lower-case hex without separators of a DUID (RFC 8415 section 11: 1 to 128 octets after the type), else `undefined`. */
export const canonicalDuid = (text: string): string | undefined => {
  const hex = text.toLowerCase().replace(/[:\s-]/g, "")
  return hex.length >= 6 && hex.length <= 260 && hex.length % 2 === 0 && /^[0-9a-f]+$/.test(hex) ? hex : undefined
}

/** A DHCPv6 client or server identifier, accepted with colons or dashes, kept as lower-case hex. */
export const Duid = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) => canonicalDuid(text) !== undefined || "Expected a DUID as 3 to 130 octets in hex")
  ).annotations({ description: "DUID in hex, with or without separators", examples: ["000100013293b831000c01020304"] }),
  Schema.String.pipe(Schema.pattern(/^(?:[0-9a-f]{2}){3,130}$/), Schema.brand("Duid")),
  { strict: true, decode: (text) => canonicalDuid(text) ?? text, encode: (duid) => duid }
)
export type Duid = typeof Duid.Type

const ethernet = new Set(["0001", "0006"])

/**
 * The MAC inside a DUID-LLT (type 1) or DUID-LL (type 3) over Ethernet or IEEE 802 hardware (RFC 8415 sections 11.2
 * and 11.4), `undefined` for the types that carry none (EN, UUID) or another hardware.
 */
export const macOfDuid = (duid: string): string | undefined => {
  const type = duid.slice(0, 4)
  const start = type === "0001" ? 16 : type === "0003" ? 8 : -1
  return start > 0 && duid.length === start + 12 && ethernet.has(duid.slice(4, 8))
    ? canonicalMac(duid.slice(start))
    : undefined
}
