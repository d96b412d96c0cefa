import { NodeContext } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, Layer, Logger, Stream } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { layerTshark, Tshark } from "../../src/layers/capture/Tshark.ts"
import type { DhcpEventEncoded } from "../../src/schema/DhcpEvent.ts"
import { PacketCapture } from "../../src/services/PacketCapture.ts"
import { activityOf, readClients } from "../support/clientActivity.ts"
import { ascii, hex, iaNa, ip6, message6, option6, pcap6, relay6 } from "../support/datagrams.ts"
import { liveSuite } from "../support/live.ts"

const sample = "test/data/dhcp-kea-perfdhcp.pcap.gz"
const layer = Tshark.pipe(Layer.provide(NodeContext.layer))

const eventsOf = (path: string, from = layer) =>
  Effect.gen(function*() {
    const capture = yield* PacketCapture
    return Chunk.toReadonlyArray(yield* Stream.runCollect(capture.fromFile(path)))
  }).pipe(Effect.provide(from))

const withDirectory = <A, E>(use: (directory: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "netops-test-"))),
    use,
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )

/** Lines of tshark's own fields, one per packet, several values joined by a comma. */
const fieldsOf = (path: string, ...fields: ReadonlyArray<string>) =>
  execFileSync("tshark", ["-n", "-r", path, "-T", "fields", ...fields.flatMap((field) => ["-e", field])], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  }).replace(/\n$/, "").split("\n").map((line) => line.split("\t"))

liveSuite("capture files through tshark", ["tshark"], () => {
  it.effect("give exactly the figures of each client", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(sample)
      assert.strictEqual(events.length, 3350)
      assert.deepStrictEqual(activityOf(events), readClients("test/data/dhcp-kea-perfdhcp.clients.tsv"))
    }))

  it.effect("are what the bundled example holds", () =>
    Effect.gen(function*() {
      const lines = gunzipSync(readFileSync("examples/traffic/kea-perfdhcp.ndjson.gz")).toString().trimEnd().split("\n")
      assert.deepStrictEqual(lines.map((line) => JSON.parse(line) as unknown), [...yield* eventsOf(sample)])
    }))

  it.effect("say of each packet what tshark says", () =>
    Effect.gen(function*() {
      const four = yield* eventsOf(sample)
      const own = fieldsOf(
        sample,
        "dhcp.id",
        "dhcp.ip.your",
        "dhcp.option.requested_ip_address",
        "dhcp.option.ip_address_lease_time",
        "dhcp.option.request_list_item",
        "dhcpv6.xid",
        "dhcpv6.duid.bytes",
        "dhcpv6.iaaddr.ip",
        "dhcpv6.iaid",
        "dhcp.option.hostname"
      )
      four.forEach((event, i) => {
        const [xid4, yours, requested, lease, list, xid6, duids, address, iaid, hostname] = own[i]!
        assert.strictEqual(`0x${event.transaction_id}`, xid4 || xid6)
        assert.strictEqual(event.hostname ?? "", hostname)
        if (event.protocol === "dhcpv4") {
          assert.strictEqual(event.assigned_ip ?? "0.0.0.0", yours)
          assert.strictEqual(event.requested_ip ?? "", requested)
          assert.strictEqual(String(event.lease_seconds ?? ""), lease)
          assert.strictEqual(event.fingerprint ?? "", list)
        } else {
          assert.isTrue(duids!.replaceAll(":", "").split(",").includes(event.duid!))
          assert.strictEqual(event.assigned_ip ?? event.requested_ip ?? "", address)
          assert.strictEqual(event.iaid, parseInt(iaid!, 16))
        }
      })
    }))

  it.effect("give the inner message of relayed traffic", () =>
    withDirectory((directory) =>
      Effect.gen(function*() {
        const link = ip6("20010db8000700000000000000000001")
        const address = ip6("20010db800010000000000000000000a")
        const relayed = (relay: 12 | 13, type: number) =>
          relay6(
            relay,
            link,
            ip6("fe80000000000000020c01fffe020304"),
            option6(18, ascii("eth1")),
            option6(37, hex("00000009"), ascii("port-7")),
            option6(9, message6(type, "0a0b0c", option6(1, hex("00030001000c01020304")), iaNa(9, [address, 60])))
          )
        const path = join(directory, "relayed.pcap")
        writeFileSync(path, pcap6([relayed(12, 3), relayed(13, 7)]))
        const common = {
          protocol: "dhcpv6",
          client_mac: "00:0c:01:02:03:04",
          duid: "00030001000c01020304",
          iaid: 9,
          relay_ip: "2001:db8:7::1",
          circuit_id: "eth1",
          remote_id: "port-7",
          transaction_id: "0a0b0c",
          lease_seconds: 60,
          source: "relayed.pcap"
        }
        assert.deepStrictEqual<unknown>(yield* eventsOf(path), [
          { ...common, event_time: "2023-11-14T22:13:20.000Z", message_type: "request", requested_ip: "2001:db8:1::a" },
          {
            ...common,
            event_time: "2023-11-14T22:13:21.000Z",
            message_type: "reply",
            assigned_ip: "2001:db8:1::a",
            server_ip: "2001:db8::11"
          }
        ])
        assert.deepStrictEqual(fieldsOf(path, "dhcpv6.msgtype"), [["12,3"], ["13,7"]])
      })
    ))

  it.effect("that are cut short give the events before the cut and a warning", () =>
    withDirectory((directory) =>
      Effect.gen(function*() {
        const warnings: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => {
          warnings.push(`${logLevel.label} ${String(message)}`)
        })
        const path = join(directory, "cut.pcap")
        writeFileSync(path, gunzipSync(readFileSync(sample)).subarray(0, 100_100))
        const events = yield* eventsOf(path).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        const whole = yield* eventsOf(sample)
        const anywhere = (all: ReadonlyArray<DhcpEventEncoded>) => all.map((event) => ({ ...event, source: "" }))
        assert.isAbove(events.length, 200)
        assert.deepStrictEqual(anywhere(events), anywhere(whole.slice(0, events.length)))
        assert.strictEqual(warnings.length, 1)
        assert.match(warnings[0]!, /^WARN .*cut\.pcap.* cut short/)
      })
    ))

  it.effect("that can't be read are typed errors in tshark's words", () =>
    withDirectory((directory) =>
      Effect.gen(function*() {
        const text = join(directory, "text.pcap")
        writeFileSync(text, "not a capture\n".repeat(100))
        const failed = (path: string) => Effect.flip(eventsOf(path))
        const wrong = yield* failed(text)
        assert.deepInclude(wrong, { _tag: "CaptureFailed", reason: "not-a-capture", from: text })
        assert.match(wrong.message, /isn't a capture file/)
        assert.notMatch(wrong.message, /^tshark:|Running as user/)
        assert.deepInclude(yield* failed(directory), { _tag: "CaptureFailed", reason: "not-a-capture" })
        assert.deepInclude(yield* failed(join(directory, "none.pcap")), { _tag: "CaptureFailed", reason: "not-found" })
        assert.deepInclude(yield* failed("-"), { _tag: "CaptureFailed", reason: "not-found" })
      })
    ))

  it.effect("say what permission a live capture lacks", () =>
    Effect.gen(function*() {
      const prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
      const error = yield* Effect.flatMap(PacketCapture, (capture) => Stream.runDrain(capture.fromInterface("lo")))
        .pipe(
          Effect.provide(layerTshark({ prefix }).pipe(Layer.provide(NodeContext.layer))),
          Effect.flip
        )
      assert.deepInclude(error, { _tag: "CaptureFailed", reason: "permission", from: "lo" })
      assert.match(error.message, /"lo".*cap_net_raw/)
    }))

  it.effect("name the interface that doesn't exist", () =>
    Effect.gen(function*() {
      const capture = yield* PacketCapture
      const error = yield* Effect.flip(Stream.runDrain(capture.fromInterface("netops-none")))
      assert.deepInclude(error, { _tag: "CaptureFailed", reason: "no-such-interface", from: "netops-none" })
      assert.match(error.message, /netops-none/)
    }).pipe(Effect.provide(layer)))
})

it.effect("without tshark say how to install it", () =>
  Effect.gen(function*() {
    for (const prefix of [["/nonexistent/runner"], ["env", "PATH=/nonexistent"]]) {
      const error = yield* Effect.flip(eventsOf(sample, layerTshark({ prefix }).pipe(Layer.provide(NodeContext.layer))))
      assert.deepInclude(error, { _tag: "CaptureToolMissing", tool: "tshark" })
      assert.match(error.message, /apt-get install tshark.*dnf install wireshark-cli.*brew install wireshark/)
    }
  }))
