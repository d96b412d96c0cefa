import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Either, FastCheck as fc, Stream } from "effect"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { answerTypes, type DhcpEvent, requestTypes } from "../../src/schema/DhcpEvent.ts"
import { canonicalIp } from "../../src/schema/Ip.ts"
import { isCanonicalIpv6 } from "../../src/services/CanonicalIpv6.ts"
import {
  decodeEvent,
  decodeEventBySchema,
  decodeEventLine,
  lineLengthMax,
  messageLengthMax
} from "../../src/services/DhcpEventLine.ts"
import { eventWindow, outsideWindow } from "../../src/services/EventWindow.ts"
import { makeLineSplitter, type NdjsonLine, splitLines } from "../../src/services/NdjsonLines.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { activityOf, readClients } from "../support/clientActivity.ts"

const good = {
  event_time: "2026-01-31T08:00:00.000Z",
  protocol: "dhcpv6",
  message_type: "solicit",
  client_mac: "02:bd:00:00:00:01",
  duid: "00030001000c01020304",
  requested_ip: "2001:db8::1",
  hostname: "pc",
  transaction_id: "0a0b0c",
  iaid: 7
} as const

const protocolTypes = {
  dhcpv4: [...requestTypes.dhcpv4, ...answerTypes.dhcpv4],
  dhcpv6: [...requestTypes.dhcpv6, ...answerTypes.dhcpv6]
}

/** Values near the borders of what fields accept. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    "::",
    "0.0.0.0",
    "0:0:0:0:0:0:0:0",
    "::ffff:0.0.0.0",
    "::ffff:192.0.2.1",
    "2001:DB8::0001",
    "1:2:3:4:5:6:7::",
    "fe80::1%eth0",
    "01.2.3.4",
    "AA-BB-CC-DD-EE-FF",
    "aabb.ccdd.eeff",
    "aa:bb:cc:dd:ee",
    "00:03:00:01:00:0c:01:02:03:04",
    "0001000132931b31000c01020304",
    "0xDEADbeef",
    "0x",
    "DEADBEEF",
    "xyz",
    "2026-02-30T00:00:00.000Z",
    "2026-01-31T08:00:00Z",
    "2026-01-31T08:00:00.123456+02:00",
    "2026-01-31T24:00:00.000Z",
    "2026-01-31T08:00:60.000Z",
    "2026-01-31",
    "solicit",
    "discover",
    "dhcpv4",
    "dhcpv6",
    "dhcpv5",
    0,
    -0,
    -1,
    1.5,
    4_294_967_295,
    4_294_967_296,
    1e300,
    true,
    [],
    {},
    ["x"],
    "a\0b",
    "\ud800",
    "😀",
    "x".repeat(1024),
    "x".repeat(1025)
  ),
  fc.jsonValue(),
  fc.ipV6(),
  fc.ipV4()
)
const fieldName = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.constantFrom(...Object.keys(good), "assigned_ip", "server_ip", "lease_seconds", "source")
  },
  { weight: 1, arbitrary: fc.constantFrom("__proto__", "constructor", "hasOwnProperty", "MAC", "toString") }
)
const mutated = fc.tuple(
  fc.oneof(dhcpEvent, fc.constant<object>(good)),
  fc.array(fc.tuple(fieldName, odd), { maxLength: 3 }),
  fc.array(fieldName, { maxLength: 1 })
).map(([event, changes, dropped]): unknown => {
  const json = new Map<string, unknown>(Object.entries(event))
  for (const [name, value] of changes) json.set(name, value)
  for (const name of dropped) json.delete(name)
  return JSON.parse(
    `{${[...json].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`
  )
})

const accepted = (changes: object) =>
  Either.getOrThrowWith(decodeEvent({ ...good, ...changes }), (message) => new Error(message))
const refused = (line: string) => Either.getOrThrow(Either.flip(decodeEventLine(line)))

describe("decodeEventLine", () => {
  it("is equal to the schema for any JSON", () => {
    let both = [0, 0]
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: mutated }, { weight: 1, arbitrary: fc.jsonValue() }), (json) => {
        const decoded = decodeEvent(json)
        both[Either.isRight(decoded) ? 0 : 1]!++
        assert.deepStrictEqual(decoded, decodeEventBySchema(json))
      }),
      { numRuns: 5000 }
    )
    assert.isTrue(both.every((count) => count > 500), `accepted and refused: ${both.join(" and ")}`)
  })

  it("accepts its own events unchanged", () => {
    const ofProtocol = fc.tuple(dhcpEvent, fc.nat()).map(([event, i]): DhcpEvent => ({
      ...event,
      message_type: protocolTypes[event.protocol][i % protocolTypes[event.protocol].length]!
    }))
    fc.assert(fc.property(ofProtocol, (event) => {
      const once = Either.getOrThrow(decodeEventLine(JSON.stringify(event)))
      assert.deepStrictEqual(decodeEventLine(JSON.stringify(once)), Either.right(once))
    }))
  })

  it("takes empty, null and unspecified values as absent", () => {
    const bare = { event_time: good.event_time, protocol: "dhcpv4", message_type: "ack", client_mac: good.client_mac }
    const line = JSON.stringify({
      ...bare,
      duid: "",
      hostname: "",
      iaid: null,
      assigned_ip: "::",
      client_ip: "0.0.0.0",
      server_ip: "0:0:0:0:0:0:0:0",
      relay_ip: null
    })
    assert.deepStrictEqual<unknown>(decodeEventLine(line), Either.right(bare))
  })

  it("keeps one spelling of each value", () => {
    assert.strictEqual(accepted({ transaction_id: "0xDEADBEEF" }).transaction_id, "deadbeef")
    assert.strictEqual(accepted({ client_mac: "AA-BB-CC-DD-EE-FF" }).client_mac, "aa:bb:cc:dd:ee:ff")
    assert.strictEqual(accepted({ client_mac: null }).client_mac, "00:0c:01:02:03:04")
    assert.strictEqual(accepted({ client_mac: null, duid: "000200000009aabb" }).client_mac, undefined)
    assert.strictEqual(
      accepted({ event_time: "2026-01-31T10:00:00.123456+02:00" }).event_time,
      "2026-01-31T08:00:00.123Z"
    )
    assert.strictEqual(accepted({ requested_ip: "::ffff:192.0.2.1" }).requested_ip, "192.0.2.1")
  })

  it("names each wrong field and tells no value", () => {
    const message = refused(
      JSON.stringify({ ...good, event_time: "s3cret", iaid: "s3cret", server_ip: "s3cret", MAC: "s3cret" })
    )
    for (const name of ["event_time", "iaid", "server_ip", "MAC"]) assert.include(message, `${name}: `)
    assert.notInclude(message, "s3cret")
    assert.include(refused(JSON.stringify({ ...good, message_type: "discover" })), "message_type: is not one of dhcpv6")
    assert.include(refused(JSON.stringify({ ...good, client_mac: "", duid: "" })), "client_mac or duid")
    assert.include(refused(JSON.stringify({ ...good, protocol: null })), "protocol: is missing")
    assert.include(refused("{\"__proto__\":{\"client_mac\":\"x\"}}"), "__proto__: is not a field")
    for (const line of ["", "s3cret", "[]", "null", "{\"a\":1}x", "\"s3cret\""]) {
      assert.notInclude(refused(line), "s3cret")
    }
    const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`unknown-${i}`, 1]))
    assert.strictEqual(refused(JSON.stringify(unknown)).length, messageLengthMax)
  })

  it("takes the last of equal keys and refuses a line that is too long", () => {
    const twice = JSON.stringify(good).replace("{", "{\"hostname\":\"first\",")
    assert.strictEqual(Either.getOrThrow(decodeEventLine(twice)).hostname, "pc")
    const padded = (length: number) => JSON.stringify(good).padEnd(length)
    assert.isTrue(Either.isRight(decodeEventLine(padded(lineLengthMax))))
    assert.include(refused(padded(lineLengthMax + 1)), "at most 65536 octets")
  })

  it.effect("decodes the bundled example to the figures of its clients", () =>
    Effect.gen(function*() {
      const octets = gunzipSync(readFileSync("examples/traffic/kea-perfdhcp.ndjson.gz"))
      const lines = yield* Stream.runCollect(splitLines(Stream.make(octets)))
      const events = Chunk.toReadonlyArray(lines).map((line) =>
        Either.getOrThrow(decodeEventLine("text" in line ? line.text : ""))
      )
      assert.strictEqual(events.length, 3350)
      assert.deepStrictEqual(activityOf(events), readClients("test/data/dhcp-kea-perfdhcp.clients.tsv"))
    }))
})

describe("isCanonicalIpv6", () => {
  it("says yes only to what canonicalIp leaves as it is", () => {
    const group = fc.constantFrom("0", "1", "db8", "ffff", "0db8", "00", "A", "")
    const near = fc.array(group, { minLength: 2, maxLength: 9 }).map((groups) => groups.join(":"))
    const ips = fc.ipV6().map((text) => canonicalIp(text) ?? text)
    let yes = 0
    fc.assert(
      fc.property(fc.oneof(near, ips, fc.string()), (text) => {
        if (!isCanonicalIpv6(text)) return
        yes++
        assert.strictEqual(canonicalIp(text), text)
      }),
      { numRuns: 5000 }
    )
    assert.isAbove(yes, 500)
    for (const text of ["2001:db8::1", "fe80::1:2:3:4", "1:2:3:4:5:6:7:8"]) assert.isTrue(isCanonicalIpv6(text))
  })
})

describe("the time window", () => {
  const now_ms = Date.UTC(2026, 0, 31)
  const at = (ms: number) => ({ event_time: new Date(ms).toISOString() })

  it("refuses what is a day ahead of the clock or too old", () => {
    const day_ms = 86_400_000
    const window = eventWindow(now_ms, now_ms - 30 * day_ms)
    assert.strictEqual(outsideWindow(at(now_ms + day_ms), window), undefined)
    assert.match(outsideWindow(at(now_ms + day_ms + 1), window)!, /^event_time: .*clock/)
    assert.strictEqual(outsideWindow(at(now_ms - 30 * day_ms), window), undefined)
    assert.match(outsideWindow(at(now_ms - 30 * day_ms - 1), window)!, /netops ingest --shift-to-now/)
    assert.strictEqual(outsideWindow(at(0), eventWindow(now_ms)), undefined)
    const late = Date.parse("2102-12-31T23:59:59.999Z")
    assert.strictEqual(outsideWindow(at(late), eventWindow(late)), undefined)
    assert.match(outsideWindow(at(late + 1), eventWindow(late))!, /2102/)
  })
})

describe("splitLines", () => {
  const whole = (octets: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<NdjsonLine> => {
    const splitter = makeLineSplitter()
    const bounds = [0, ...cuts.map((cut) => cut % (octets.length + 1)).sort((a, b) => a - b), octets.length]
    return [...bounds.slice(1).flatMap((end, i) => splitter.push(octets.subarray(bounds[i], end))), ...splitter.end()]
  }
  const bytes = (text: string) => new TextEncoder().encode(text)

  it("gives the same lines wherever the octets are cut", () => {
    const line = fc.constantFrom("", " ", "{}", "é", "日本", "😀x", "\r", "a\r", "\ufeffb")
    fc.assert(fc.property(fc.array(line), fc.array(fc.nat()), fc.boolean(), (lines, cuts, last) => {
      const octets = bytes(lines.join("\n") + (last ? "\n" : ""))
      const expected = lines.flatMap((text, i) => {
        const bare = (i === 0 ? text.replace(/^\ufeff/, "") : text).replace(/\r$/, "")
        return bare.trim() === "" ? [] : [{ number: i + 1, text: bare }]
      })
      assert.deepStrictEqual<unknown>(whole(octets, cuts), expected)
    }))
  })

  it("refuses the line that isn't UTF-8 and no other", () => {
    fc.assert(fc.property(fc.array(fc.nat()), (cuts) => {
      const octets = Buffer.concat([bytes("a\n"), Uint8Array.of(0x62, 0xff, 10), bytes("c\n"), Uint8Array.of(0xc3)])
      assert.deepStrictEqual<unknown>(whole(octets, cuts), [
        { number: 1, text: "a" },
        { number: 2, refused: "expected UTF-8" },
        { number: 3, text: "c" },
        { number: 4, refused: "expected UTF-8" }
      ])
    }))
  })

  it("keeps nothing of an endless line and goes on after it", () => {
    const splitter = makeLineSplitter()
    const chunk = bytes("x".repeat(65_536))
    const before = process.memoryUsage().arrayBuffers
    for (let i = 0; i < 2000; i++) assert.deepStrictEqual(splitter.push(chunk), [])
    assert.isBelow(process.memoryUsage().arrayBuffers - before, 20_000_000)
    assert.deepStrictEqual<unknown>(splitter.push(bytes("\nb\n")), [
      { number: 1, refused: "expected a line of at most 65536 octets" },
      { number: 2, text: "b" }
    ])
    const exact = "x".repeat(lineLengthMax)
    assert.deepStrictEqual<unknown>(whole(bytes(`${exact}\r\n${exact}y\n`), [7, 65_537, 65_538]), [
      { number: 1, text: exact },
      { number: 2, refused: "expected a line of at most 65536 octets" }
    ])
  })
})
