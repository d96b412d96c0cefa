import { FastCheck as fc } from "effect"
import { type DhcpEvent, messageTypes, protocols } from "../../../src/schema/DhcpEvent.ts"

/** Few enough values that random filters meet random events, nasty enough to break quoting and case folding. */
export const nastyTexts = [
  "host-1",
  "HOST-1",
  "Laptop",
  "lap",
  "it's",
  "\"quoted\"",
  "back\\slash",
  "\\",
  "\\n",
  "tab\there",
  "two\nlines",
  "\r\n",
  "\u0001\b\f\u007f",
  "%_*",
  "{p0:String}",
  "' OR 1=1 --",
  "\\N",
  "NULL",
  "É",
  "é",
  "ÀB",
  "İi",
  "\u212a",
  "ſs",
  "ß",
  "日本",
  "😀",
  "e\u0301",
  "\u200b",
  "[1]",
  "\ufeffbom",
  " padded "
]

const wellFormed = (text: string) => !/[\p{Surrogate}\0]/u.test(text)
export const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...nastyTexts) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 12 }).filter(wellFormed) }
)

const octet = fc.constantFrom("00", "01", "0a", "ab", "ff")
export const mac = fc.tuple(fc.constantFrom("02:bd:00", "00:0c:01", "aa:bb:cc"), octet, octet, octet)
  .map((parts) => parts.join(":"))
export const duid = fc.oneof(
  mac.map((address) => `00030001${address.replaceAll(":", "")}`),
  fc.constantFrom("000200000009aabb", "aabbcc", "aabbccddeeff", `0004${"0f".repeat(16)}`)
)
export const ip = fc.oneof(
  fc.constantFrom("192.0.2.0", "192.0.2.1", "192.0.2.255", "192.0.3.0", "10.0.0.1", "255.255.255.255", "1.0.0.0"),
  fc.constantFrom("2001:db8::", "2001:db8::1", "2001:db8:0:1::1", "fe80::1", "::1", "::102:304", "ffff::"),
  fc.constantFrom(
    "::fffe:102:304",
    "2001:db8:0:0:1::",
    "1:2:3:4:5:6:0:8",
    "64:ff9b::c000:201",
    "::102:0",
    "::ffff:0:102:304"
  ),
  fc.ipV4()
)
/** Times far ahead, which the table's TTL doesn't take away. */
export const instant = fc.oneof(
  fc.constantFrom(
    "2096-01-31T08:00:00.000Z",
    "2096-01-31T08:00:00.001Z",
    "2096-01-31T07:59:59.999Z",
    "2096-02-29T23:59:59.999Z",
    "2105-12-31T23:59:59.999Z"
  ),
  fc.date({ min: new Date("2096-01-30T00:00:00Z"), max: new Date("2096-02-02T00:00:00Z"), noInvalidDate: true })
    .map((date) => date.toISOString())
)
export const uint32 = fc.oneof(fc.constantFrom(0, 1, 59, 60, 3600, 0xffff_ffff), fc.nat(100))

const optional = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined, freq: 3 })
const optionalText = optional(fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: fc.constant("") }))
const optionalIp = optional(
  fc.oneof({ weight: 9, arbitrary: ip }, { weight: 1, arbitrary: fc.constantFrom("::", "0.0.0.0") })
)

/** Events as the schema types them: with fields left out, and now and then empty or unspecified. */
export const dhcpEvent: fc.Arbitrary<DhcpEvent> = fc.record({
  event_time: instant,
  protocol: fc.constantFrom(...protocols),
  message_type: fc.constantFrom(...messageTypes),
  client_mac: optional(mac),
  client_id: optionalText,
  duid: optional(duid),
  iaid: optional(uint32),
  hostname: optionalText,
  vendor_class: optionalText,
  user_class: optionalText,
  fingerprint: optional(fc.constantFrom("1,28,2", "1,3,6", "23,24")),
  requested_ip: optionalIp,
  assigned_ip: optionalIp,
  client_ip: optionalIp,
  server_ip: optionalIp,
  relay_ip: optionalIp,
  circuit_id: optionalText,
  remote_id: optionalText,
  subscriber_id: optionalText,
  transaction_id: optional(fc.constantFrom("deadbeef", "00c0ffee")),
  lease_seconds: optional(uint32),
  source: optionalText
}).map((fields) => {
  const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  if (fields.client_mac === undefined && fields.duid === undefined) present["duid"] = "aabbcc"
  return present as unknown as DhcpEvent
})
