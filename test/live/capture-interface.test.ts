import { NodeContext } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule, Stream } from "effect"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { layerTshark } from "../../src/layers/capture/Tshark.ts"
import type { DhcpEventEncoded } from "../../src/schema/DhcpEvent.ts"
import { PacketCapture } from "../../src/services/PacketCapture.ts"
import { activityOf } from "../support/clientActivity.ts"
import { keaNetwork, keaRequirements, packetSockets } from "../support/kea.ts"
import { liveSuite } from "../support/live.ts"
import { countOf } from "../support/tsharkCount.ts"

const until = (ready: () => Promise<boolean>) =>
  Effect.promise(ready).pipe(
    Effect.repeat({ until: (is) => is, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("8 seconds")
  )

liveSuite("a live capture through tshark", [...keaRequirements, "tshark", "tcpdump"], () => {
  it.scopedLive(
    "counts each client of real traffic as tcpdump saw it, and leaves no process behind",
    () =>
      Effect.gen(function*() {
        const network = yield* keaNetwork
        const namespace = network.clientNamespace
        const path = join(network.directory, "tcpdump.pcap")
        const tcpdump = network.spawnAtClient(
          "tcpdump",
          "--immediate-mode",
          "-U",
          "-i",
          network.clientInterface,
          "-w",
          path,
          "udp"
        )
        const events: Array<DhcpEventEncoded> = []
        const layer = layerTshark({ prefix: ["ip", "netns", "exec", namespace] }).pipe(Layer.provide(NodeContext.layer))
        const capture = yield* Effect.flatMap(PacketCapture, (packets) =>
          Stream.runForEach(packets.fromInterface(network.clientInterface), (event) =>
            Effect.sync(() => {
              events.push(event)
            }))).pipe(Effect.provide(layer), Effect.fork)
        yield* until(async () =>
          await packetSockets(namespace) === 2
        )

        const load = { clients: 12, rate: 40, seconds: 3 }
        yield* Effect.promise(() => Promise.all([network.perfdhcp(4, load), network.perfdhcp(6, load)]))
        yield* Effect.sleep("300 millis")
        tcpdump.kill("SIGINT")
        yield* Effect.promise(() => once(tcpdump, "close"))

        const counted = countOf(path)
        yield* until(() => Promise.resolve(events.length >= counted.packets))
        yield* Fiber.interrupt(capture)
        assert.isAbove(counted.packets, 600)
        assert.strictEqual(Object.keys(counted.activity).length, 24)
        assert.deepStrictEqual(activityOf(events), counted.activity)
        assert.strictEqual(events.length, counted.packets)
        assert.strictEqual(execFileSync("ip", ["netns", "pids", namespace], { encoding: "utf8" }), "")
      }),
    25_000
  )
})
