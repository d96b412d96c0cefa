import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Schema } from "effect"
import { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { makeAnswerMacs } from "../../src/services/capture/AnswerMacs.ts"
import type { Datagram } from "../../src/services/capture/Datagram.ts"
import { shiftToNow } from "../../src/services/capture/shiftToNow.ts"
import { eventOfDatagram, readTsharkLine } from "../../src/services/capture/TsharkPacket.ts"
import { ascii, datagram, hex, iaNa, ip6, message4, message6, option4, option6, relay6 } from "../support/datagrams.ts"

const read = (message: Datagram) => eventOfDatagram(message, "test")
const duidLl = "00030001000c01020304"
const duidUuid = "0004d5f1a8e09d8f4e3ab7c16f2b8c3a1d55"
const clientId = (duid: string) => option6(1, hex(duid))
const address = (last: string) => ip6(`20010db8000100000000000000000${last}`)
const link = ip6("20010db8000700000000000000000001")
const peer = ip6("fe80000000000000020c01fffe020304")
const none = new Uint8Array(16)

describe("DHCPv4 messages", () => {
  it("keeps what a relayed request says", () => {
    const event = read(datagram(
      "dhcpv4",
      message4(
        { op: 1, giaddr: "c0000201", ciaddr: "c0000209" },
        option4(53, hex("03")),
        option4(61, hex("01000c01020304")),
        option4(50, hex("c000020a")),
        option4(54, hex("c0000202")),
        option4(55, hex("011c02")),
        option4(60, ascii("MSFT 5.0")),
        option4(77, hex("0461626364 0178")),
        option4(81, hex("040000 0470633031 076578616d706c65 00")),
        option4(82, Buffer.concat([option4(1, ascii("ge-0/0/1")), option4(2, hex("00ff10")), option4(6, ascii("sub"))]))
      )
    ))
    assert.deepStrictEqual(event, {
      event_time: "2026-01-31T08:00:00.000Z",
      protocol: "dhcpv4",
      message_type: "request",
      client_mac: "00:0c:01:02:03:04",
      client_id: "01000c01020304",
      hostname: "pc01.example",
      vendor_class: "MSFT 5.0",
      user_class: "abcd,x",
      fingerprint: "1,28,2",
      requested_ip: "192.0.2.10",
      client_ip: "192.0.2.9",
      server_ip: "192.0.2.2",
      relay_ip: "192.0.2.1",
      circuit_id: "ge-0/0/1",
      remote_id: "0x00ff10",
      subscriber_id: "sub",
      transaction_id: "deadbeef",
      source: "test"
    })
  })

  it("takes the sender of an answer for the server, and the sender of a request for nobody", () => {
    const ack = message4({ op: 2, yiaddr: "c000020a" }, option4(53, hex("05")), option4(51, hex("ffffffff")))
    const event = read(datagram("dhcpv4", ack, { ipSource: "192.0.2.2" }))
    assert.strictEqual(event?.server_ip, "192.0.2.2")
    assert.strictEqual(event?.assigned_ip, "192.0.2.10")
    assert.strictEqual(event?.lease_seconds, 4_294_967_295)
    const discover = message4({ op: 1, yiaddr: "c000020a" }, option4(53, hex("01")))
    const request = read(datagram("dhcpv4", discover, { ipSource: "192.0.2.7" }))
    assert.strictEqual(request?.server_ip, undefined)
    assert.strictEqual(request?.assigned_ip, undefined)
  })

  it("joins an option that is split and reads the options in the file field", () => {
    const split = message4({ op: 1 }, option4(53, hex("01")), option4(12, ascii("long-")), option4(12, ascii("name")))
    assert.strictEqual(read(datagram("dhcpv4", split))?.hostname, "long-name")
    const overloaded = message4({ op: 1 }, option4(53, hex("01")), option4(52, hex("01")))
    overloaded.set(option4(12, ascii("in-file")), 108)
    assert.strictEqual(read(datagram("dhcpv4", overloaded))?.hostname, "in-file")
  })

  it("knows a client without hardware address by its client identifier", () => {
    const id = (value: string) =>
      read(
        datagram("dhcpv4", message4({ op: 1, hlen: 0, chaddr: "" }, option4(53, hex("01")), option4(61, hex(value))))
      )
    assert.strictEqual(id("01000c01020304")?.client_mac, "00:0c:01:02:03:04")
    const rfc4361 = id(`ff00000007${duidUuid}`)
    assert.strictEqual(rfc4361?.duid, duidUuid)
    assert.strictEqual(rfc4361?.iaid, 7)
    assert.strictEqual(rfc4361?.client_mac, undefined)
    assert.strictEqual(id(`ff00000007${duidLl}`)?.client_mac, "00:0c:01:02:03:04")
    assert.strictEqual(id("00616263"), undefined)
  })

  it("leaves out BOOTP and types beyond RFC 2131", () => {
    assert.strictEqual(read(datagram("dhcpv4", message4({ op: 1 }))), undefined)
    assert.strictEqual(read(datagram("dhcpv4", message4({ op: 1 }, option4(53, hex("0a"))))), undefined)
  })
})

describe("DHCPv6 messages", () => {
  const solicit = (duid: string) => message6(1, "0a0b0c", clientId(duid), option6(6, hex("00170018")), iaNa(9))

  it("takes the inner message of a relayed one, and the relay next to the client", () => {
    const inner = relay6(
      12,
      link,
      peer,
      option6(18, ascii("eth1")),
      option6(37, hex("00000009"), ascii("port-7")),
      option6(38, ascii("sub-1")),
      option6(79, hex("0001020c01020399")),
      option6(9, message6(3, "0a0b0c", clientId(duidUuid), iaNa(9, [address("00a"), 60], [address("00b"), 60])))
    )
    const outer = relay6(
      12,
      ip6("20010db8000800000000000000000001"),
      peer,
      option6(18, ascii("out")),
      option6(9, inner)
    )
    assert.deepStrictEqual(read(datagram("dhcpv6", outer, { ipSource: "2001:db8::5", ipDestination: "2001:db8::1" })), {
      event_time: "2026-01-31T08:00:00.000Z",
      protocol: "dhcpv6",
      message_type: "request",
      client_mac: "02:0c:01:02:03:99",
      duid: duidUuid,
      iaid: 9,
      requested_ip: "2001:db8:1::a",
      relay_ip: "2001:db8:7::1",
      circuit_id: "eth1",
      remote_id: "port-7",
      subscriber_id: "sub-1",
      transaction_id: "0a0b0c",
      lease_seconds: 60,
      source: "test"
    })
  })

  it("names a layer-2 relay, which has no link address, by its own address", () => {
    const relayed = (type: 12 | 13) => relay6(type, none, peer, option6(9, solicit(duidLl)))
    const between = { ipSource: "fe80::5", ipDestination: "fe80::6" }
    assert.strictEqual(read(datagram("dhcpv6", relayed(12), between))?.relay_ip, "fe80::5")
    assert.strictEqual(read(datagram("dhcpv6", relayed(13), between))?.relay_ip, "fe80::6")
  })

  it("takes the MAC of the DUID, else of the frame, and this only from a client on the link", () => {
    const mac = (payload: Uint8Array, more: Partial<Datagram> = {}) =>
      read(datagram("dhcpv6", payload, more))?.client_mac
    assert.strictEqual(mac(solicit(duidLl)), "00:0c:01:02:03:04")
    assert.strictEqual(mac(solicit(duidUuid)), "aa:bb:cc:00:00:01")
    assert.strictEqual(mac(solicit(duidUuid), { ipSource: "2001:db8::9", ipDestination: "2001:db8::1" }), undefined)
    assert.strictEqual(mac(message6(7, "0a0b0c", clientId(duidUuid)), { ipSource: "fe80::2" }), undefined)
    assert.strictEqual(mac(relay6(12, link, peer, option6(9, solicit(duidUuid)))), undefined)
  })

  it("prefers an address that is still valid", () => {
    const reply = message6(7, "0a0b0c", clientId(duidLl), iaNa(9, [address("00a"), 0], [address("00b"), 300]))
    const event = read(datagram("dhcpv6", reply, { ipSource: "fe80::2", ipDestination: "fe80::1" }))
    assert.strictEqual(event?.assigned_ip, "2001:db8:1::b")
    assert.strictEqual(event?.lease_seconds, 300)
    assert.strictEqual(event?.server_ip, "fe80::2")
    assert.strictEqual(event?.requested_ip, undefined)
  })

  it("leaves out who says no client, unknown types and relays without end", () => {
    assert.strictEqual(read(datagram("dhcpv6", message6(7, "0a0b0c"))), undefined)
    assert.strictEqual(read(datagram("dhcpv6", message6(14, "0a0b0c", clientId(duidLl)))), undefined)
    let deep = solicit(duidLl)
    for (let hop = 0; hop < 9; hop++) deep = relay6(12, link, peer, option6(9, deep))
    assert.strictEqual(read(datagram("dhcpv6", deep)), undefined)
  })

  it("gives an answer the MAC that its request showed", () => {
    const withMac = makeAnswerMacs()
    const pass = (payload: Uint8Array) => withMac(read(datagram("dhcpv6", payload))!).client_mac
    const advertise = (xid: string) => message6(2, xid, clientId(duidUuid))
    assert.strictEqual(pass(advertise("0a0b0c")), undefined)
    pass(solicit(duidUuid))
    assert.strictEqual(pass(advertise("0a0b0c")), "aa:bb:cc:00:00:01")
    assert.strictEqual(pass(advertise("0a0b0d")), undefined)
  })
})

describe("any octets", () => {
  const seeds = {
    dhcpv4: message4(
      { op: 1 },
      option4(53, hex("03")),
      option4(12, ascii("pc")),
      option4(81, hex("040000026162")),
      option4(55, hex("0103")),
      option4(77, hex("0261")),
      option4(82, option4(1, hex("ffee")))
    ),
    dhcpv6: relay6(
      12,
      link,
      peer,
      option6(18, hex("00")),
      option6(
        9,
        message6(
          1,
          "000001",
          clientId(duidLl),
          option6(15, hex("00026162")),
          option6(16, hex("00000137000161")),
          option6(39, hex("0002706300")),
          iaNa(1, [address("00a"), 5])
        )
      )
    )
  }
  const strict = Schema.decodeUnknownEither(DhcpEvent, {
    onExcessProperty: "error"
  })

  it("give nothing or an event that is already canonical", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("dhcpv4" as const, "dhcpv6" as const),
        fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 })), { maxLength: 12 }),
        fc.nat(400),
        (protocol, changes, cut) => {
          const payload = Uint8Array.from(seeds[protocol])
          for (const [at, octet] of changes) payload[at % payload.length] = octet
          const event = read(datagram(protocol, payload.subarray(0, cut > 380 ? payload.length : cut)))
          if (event !== undefined) assert.deepStrictEqual<unknown>(strict(event), Either.right(event))
        }
      ),
      { numRuns: 2000 }
    )
    assert.isDefined(read(datagram("dhcpv4", seeds.dhcpv4)))
    assert.isDefined(read(datagram("dhcpv6", seeds.dhcpv6)))
  })

  it("lines that are none of tshark's give nothing", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (line) => readTsharkLine(line) === undefined))
  })
})

describe("shiftToNow", () => {
  it("ends the recording now and keeps the times between events", () => {
    const instant = fc.integer({ min: 0, max: 4e12 }).map((ms) => ({ event_time: new Date(ms).toISOString(), kept: 1 }))
    fc.assert(fc.property(fc.array(instant, { minLength: 1 }), fc.integer({ min: 0, max: 4e12 }), (events, now_ms) => {
      const moved = shiftToNow(events, now_ms)
      const ms = (event: { readonly event_time: string }) => Date.parse(event.event_time)
      assert.strictEqual(Math.max(...moved.map(ms)), now_ms)
      moved.forEach((event, i) => assert.strictEqual(ms(event) - ms(moved[0]!), ms(events[i]!) - ms(events[0]!)))
    }))
  })
})
