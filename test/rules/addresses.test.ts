import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Schema } from "effect"
import { canonicalDuid, Duid, macOfDuid } from "../../src/schema/Duid.ts"
import { canonicalIp, Cidr, inRange, Ip, ipOctets, parseCidr } from "../../src/schema/Ip.ts"
import { canonicalMac, canonicalOui, isRandomizedMac, Mac, Oui } from "../../src/schema/Mac.ts"

const byte = fc.integer({ min: 0, max: 255 })
const hexOf = (octets: ReadonlyArray<number>) => octets.map((octet) => octet.toString(16).padStart(2, "0"))
const octets = (length: number) => fc.array(byte, { minLength: length, maxLength: length })
const cased = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.boolean()).map(([value, upper]) => upper ? value.toUpperCase() : value)

/** Reading twice reads the same, and what was read is written as it is. */
const assertCanonical = <A extends string, I extends string>(schema: Schema.Schema<A, I>, text: string) => {
  const value = Schema.decodeUnknownSync(schema)(text)
  assert.strictEqual(Schema.decodeUnknownSync(schema)(value), value)
  assert.strictEqual(Schema.encodeSync(schema)(value) as string, value)
  return value as string
}

const refuses = <A, I>(schema: Schema.Schema<A, I>, texts: ReadonlyArray<unknown>) => {
  for (const text of texts) {
    assert.isTrue(Either.isLeft(Schema.decodeUnknownEither(schema)(text)), JSON.stringify(text))
  }
}

const notations: ReadonlyArray<(hex: ReadonlyArray<string>) => string> = [
  (hex) => hex.join(":"),
  (hex) => hex.join("-"),
  (hex) => hex.join(""),
  (hex) => hex.join("").match(/.{4}/g)!.join(".")
]

describe("MAC addresses", () => {
  it.prop("in any notation become lower-case octets with colons", {
    mac: octets(6),
    notation: fc.constantFrom(...notations),
    upper: fc.boolean()
  }, ({ mac, notation, upper }) => {
    const text = notation(hexOf(mac))
    assert.strictEqual(assertCanonical(Mac, upper ? text.toUpperCase() : text), hexOf(mac).join(":"))
    assert.strictEqual(isRandomizedMac(hexOf(mac).join(":")), (mac[0]! & 2) !== 0)
    const oui = notation(hexOf(mac)).slice(0, notation(["00", "11", "22", "00", "11", "22"]).indexOf("22") + 2)
    assert.strictEqual(canonicalOui(oui), hexOf(mac).slice(0, 3).join(":"))
  })

  it.prop("are read from nothing else", {
    text: fc.oneof(fc.string({ maxLength: 20 }), fc.stringMatching(/^[0-9a-fA-F:.-]{12,17}$/))
  }, ({ text }) => {
    const hex = text.toLowerCase().replace(/[:.-]/g, "").match(/../g) ?? []
    const isOne = hex.length === 6 && notations.some((notation) => notation(hex) === text.toLowerCase())
    assert.strictEqual(canonicalMac(text) !== undefined, isOne && /^[0-9a-f:.-]+$/i.test(text))
  })

  it("in no notation are refused", () => {
    refuses(Mac, ["", "02:bd:00:00:00:0g", "02-bd:00-00:00-01", "02bd.000000.01", " 02bd00000001", "02bd00000001\n", 1])
    refuses(Oui, ["", "02:bd", "02:bd:00:00", "gg:bd:00", "0-2bd0-0-", null])
  })
})

describe("DUIDs", () => {
  it.prop("become lower-case hex", {
    duid: fc.array(byte, { minLength: 3, maxLength: 130 }),
    separator: fc.constantFrom("", ":", "-", " "),
    upper: fc.boolean()
  }, ({ duid, separator, upper }) => {
    const text = hexOf(duid).join(separator)
    assert.strictEqual(assertCanonical(Duid, upper ? text.toUpperCase() : text), hexOf(duid).join(""))
  })

  it("of other lengths are refused", () => {
    refuses(Duid, ["", "0001", "00010", "0".repeat(262), "00010g", 1])
  })

  it.prop("carry a MAC in types 1 and 3 over Ethernet alone", {
    type: fc.constantFrom(1, 2, 3, 4),
    hardware: fc.constantFrom(1, 6, 32),
    time: octets(4),
    mac: octets(6),
    more: fc.array(byte, { maxLength: 2 })
  }, ({ hardware, mac, more, time, type }) => {
    const duid = hexOf([0, type, 0, hardware, ...(type === 1 ? time : []), ...mac, ...more]).join("")
    const carries = (type === 1 || type === 3) && hardware !== 32 && more.length === 0
    assert.strictEqual(macOfDuid(canonicalDuid(duid)!), carries ? hexOf(mac).join(":") : undefined)
  })
})

const ipv6Text = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map((group) => group.toString(16)).join(":"))
const address = fc.oneof(fc.ipV4(), fc.ipV6(), ipv6Text)

const toBig = (value: ReadonlyArray<number>) => value.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n)

describe("IP addresses", () => {
  it.prop("have one text", { text: cased(address) }, ({ text }) => {
    const ip = assertCanonical(Ip, text)
    assert.deepStrictEqual(ipOctets(ip), ipOctets(text))
    assert.strictEqual(ipOctets(ip)!.length, 16)
  })

  it.prop("have one text for each of their octets", {
    groups: fc.oneof(octets(16), octets(4).map((four) => [...Array<number>(10).fill(0), 0xff, 0xff, ...four]))
  }, ({ groups }) => {
    const text = hexOf(groups).join("").match(/.{4}/g)!.join(":")
    assert.deepStrictEqual(ipOctets(canonicalIp(text)!), groups)
  })

  it("follow RFC 5952", () => {
    const texts: ReadonlyArray<readonly [string, string]> = [
      ["2001:0DB8:0:0:0:0:0:1", "2001:db8::1"],
      ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
      ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
      ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
      ["::ffff:192.0.2.1", "192.0.2.1"],
      ["::ffff:c000:201", "192.0.2.1"],
      ["0:0:0:0:0:0:0:0", "::"]
    ]
    for (const [text, canonical] of texts) assert.strictEqual(canonicalIp(text), canonical)
  })

  it("in other forms are refused", () => {
    refuses(Ip, [
      "",
      "192.0.2",
      "192.0.2.256",
      "192.0.2.01",
      "0xc0000201",
      "3221225985",
      "fe80::1%eth0",
      ":::",
      "1::2::3"
    ])
    refuses(Ip, ["192.0.2.1/32", "[::1]", " 192.0.2.1", "192.0.2.1 ", null])
  })
})

describe("networks", () => {
  it.prop("hold what bit arithmetic says they hold", {
    text: address,
    bits: fc.nat(128),
    other: address,
    near: fc.nat(31)
  }, ({
    bits,
    near,
    other,
    text
  }) => {
    const four = !canonicalIp(text)!.includes(":")
    const prefix = four ? bits % 33 : bits
    const range = parseCidr(`${text}/${prefix}`)!
    const shift = BigInt((four ? 32 : 128) - prefix)
    const own = toBig(ipOctets(text)!)
    assert.strictEqual(toBig(range.first), (own >> shift) << shift)
    assert.strictEqual(toBig(range.last), ((own >> shift) << shift) + (1n << shift) - 1n)
    const flipped = own ^ (1n << BigInt(near))
    const neighbour = hexOf(Array.from({ length: 16 }, (_, i) => Number((flipped >> BigInt(8 * (15 - i))) & 255n)))
    for (const candidate of [ipOctets(other)!, neighbour.map((hex) => parseInt(hex, 16)), ipOctets(text)!]) {
      assert.strictEqual(inRange(range, candidate), toBig(candidate) >> shift === own >> shift)
    }
  })

  it.prop("have one text, without host bits", { text: address, bits: fc.nat(32) }, ({ bits, text }) => {
    const cidr = assertCanonical(Cidr, `${text}/${bits}`)
    const { first, last } = parseCidr(cidr)!
    assert.deepStrictEqual({ first, last }, (({ first, last }) => ({ first, last }))(parseCidr(`${text}/${bits}`)!))
    assert.deepStrictEqual(ipOctets(cidr.split("/")[0]!), first)
    assert.strictEqual(
      assertCanonical(Cidr, text),
      `${canonicalIp(text)}/${text.includes(":") && canonicalIp(text)!.includes(":") ? 128 : 32}`
    )
  })

  it("in other forms are refused", () => {
    refuses(Cidr, ["", "/24", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/-1", "192.0.2.0/024", "192.0.2.0/24/24"])
    refuses(Cidr, ["192.0.2.0/", "192.0.2.0/24 ", "192.0.2.0/255.255.255.0", "example.org/24"])
  })
})
