import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { EnforcerNft } from "../../src/layers/nft/EnforcerNft.ts"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { DesiredMacsPg } from "../../src/layers/postgres/DesiredMacsPg.ts"
import { ActionId, type ActionType } from "../../src/schema/Action.ts"
import { Actions } from "../../src/services/Actions.ts"
import { Enforcer } from "../../src/services/Enforcer.ts"
import { PostgresTest } from "../support/engines.ts"
import { keaNetwork, keaRequirements } from "../support/kea.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const run = (...[file, ...args]: [string, ...Array<string>]) => execFileSync(file, args, { stdio: "pipe" })
const nodes = ["s", "a", "b"] as const
type Node = (typeof nodes)[number]
const macs = { s: "02:ef:00:00:00:01", a: "02:ef:00:00:00:0a", b: "02:ef:00:00:00:0b" } as const
const server = { plain: "10.78.0.1", allowed: "10.78.0.9" }
const counted = { dhcp: "udp dport 67", dns: "udp dport 53", dhcpv6: "udp dport 547", other: "udp dport 9" } as const

/** Two clients and a server on a bridge, which forwards frames and isn't asked for routes. */
const bridge = Effect.acquireRelease(
  Effect.sync(() => {
    const salt = randomBytes(3).toString("hex")
    const name = (node: string) => `nop${salt}${node}`
    const inside = (node: string, ...args: ReadonlyArray<string>) =>
      run("ip", "netns", "exec", name(node), ...args as [string])
    for (const node of ["r", ...nodes]) run("ip", "netns", "add", name(node))
    inside("r", "ip", "link", "add", "br0", "type", "bridge")
    inside("r", "ip", "link", "set", "br0", "up")
    for (const [index, node] of nodes.entries()) {
      run("ip", "-n", name(node), "link", "add", "up0", "type", "veth", "peer", "name", `to${node}`, "netns", name("r"))
      inside(node, "ip", "link", "set", "up0", "address", macs[node])
      inside(node, "ip", "addr", "add", `10.78.0.${index + 1}/24`, "dev", "up0")
      inside(node, "ip", "link", "set", "up0", "up")
      inside("r", "ip", "link", "set", `to${node}`, "master", "br0", "up")
    }
    inside("s", "ip", "addr", "add", `${server.allowed}/24`, "dev", "up0")
    inside("s", "nft", "add table inet seen; add chain inet seen in { type filter hook input priority 0; }")
    for (const [what, match] of Object.entries(counted)) {
      for (const node of ["a", "b"] as const) {
        inside("s", "nft", `add counter inet seen ${what}_${node}`)
        inside("s", "nft", `add rule inet seen in ether saddr ${macs[node]} ${match} counter name ${what}_${node}`)
      }
    }
    // nothing listens there: a packet that arrives is answered by a reset
    const connects = (node: Node, address: string, port: number) =>
      String(
        spawnSync("ip", ["netns", "exec", name(node), "timeout", "1", "bash", "-c", `: </dev/tcp/${address}/${port}`])
          .stderr
      ).includes("refused")
    /** Sends a datagram of each kind, and gives the kinds that the server got. */
    const arrives = (node: "a" | "b") => {
      inside("s", "nft", "reset counters table inet seen")
      for (const match of Object.values(counted)) {
        spawnSync("ip", [
          ...["netns", "exec", name(node), "bash", "-c"],
          `echo x >/dev/udp/${server.plain}/${match.split(" ")[2]!}`
        ])
      }
      const { nftables } = JSON.parse(String(inside("s", "nft", "-j", "list counters table inet seen"))) as any
      const packets = new Map(nftables.flatMap(({ counter }: any) => counter ? [[counter.name, counter.packets]] : []))
      return Object.keys(counted).filter((what) => packets.get(`${what}_${node}`) !== 0)
    }
    return { name, connects, arrives }
  }),
  ({ name }) =>
    Effect.sync(() => {
      for (const node of ["r", ...nodes]) spawnSync("ip", ["netns", "del", name(node)], { stdio: "ignore" })
    })
)

const enforced = (settings: Record<string, string>) =>
  Layer.unwrapScoped(Effect.map(dataDir, (path) => {
    const nft = nftIn(path, settings)
    return Layer.merge(EnforcerNft.pipe(Layer.provide([nft, DesiredMacsPg])), ActionsPg).pipe(
      Layer.provideMerge(PostgresTest),
      Layer.provide(nft)
    )
  }))

const enforce = (type: ActionType, mac: string) =>
  Effect.gen(function*() {
    const at = yield* DateTime.now
    yield* (yield* Actions).order({
      id: ActionId.make(randomUUID()),
      type,
      tag: null,
      client: mac,
      client_mac: mac,
      expires_at: null
    }, { at, reason: "as asked", origin: { kind: "user", id: "1" } })
    yield* (yield* Enforcer).pass
  })

const all = Object.keys(counted)

liveSuite("enforcement on a bridge", ["nft", "ip", "bash", "nsenter", "timeout"], () => {
  it.scopedLive("drops all of a blocked client, and lets one in quarantine reach DHCP, DNS and what is allowed", () =>
    Effect.gen(function*() {
      const { arrives, connects, name } = yield* bridge
      yield* Effect.gen(function*() {
        yield* (yield* Enforcer).pass
        assert.deepStrictEqual([arrives("a"), arrives("b")], [all, all])
        assert.isTrue(connects("a", server.plain, 9))
        yield* enforce("block", macs.a)
        assert.deepStrictEqual([arrives("a"), arrives("b")], [[], all])
        assert.deepStrictEqual([connects("a", server.plain, 9), connects("b", server.plain, 9)], [false, true])
        yield* enforce("quarantine", macs.b)
        assert.deepStrictEqual(arrives("b"), ["dhcp", "dns", "dhcpv6"])
        assert.deepStrictEqual(
          [connects("b", server.plain, 9), connects("b", server.plain, 53), connects("b", server.allowed, 9)],
          [false, true, true]
        )
        yield* (yield* Actions).removeAll(yield* DateTime.now)
        yield* (yield* Enforcer).pass
        assert.deepStrictEqual([arrives("a"), arrives("b")], [all, all])
      }).pipe(Effect.provide(enforced({
        NETOPS_NFT_TARGET: `netns:${name("r")}`,
        NETOPS_NFT_BRIDGE: "1",
        NETOPS_QUARANTINE_ALLOW: server.allowed
      })))
    }))
})

const answers = (report: string) =>
  [...report.matchAll(/received packets: (\d+)/g)].map(([, count]) => Number(count)).reduce((a, b) => a + b, 0)

liveSuite(
  "what a DHCP server on the enforcing host still sees",
  [...keaRequirements, "nft", "nsenter", "timeout"],
  () => {
    it.scopedLive(
      "Kea answers a blocked client by DHCPv4, whose packets it reads before the packet filter",
      () =>
        Effect.gen(function*() {
          const network = yield* keaNetwork
          const inClient = (...args: ReadonlyArray<string>) =>
            spawnSync("ip", ["netns", "exec", network.clientNamespace, ...args])
          const reaches = () =>
            String(inClient("timeout", "1", "bash", "-c", ": </dev/tcp/10.66.0.1/9").stderr).includes("refused")
          const asks = (family: 4 | 6) =>
            Effect.map(Effect.promise(() => network.perfdhcp(family, { clients: 5, rate: 5, seconds: 3 })), answers)
          yield* Effect.gen(function*() {
            yield* (yield* Enforcer).pass
            assert.isTrue(reaches())
            const before = [yield* asks(4), yield* asks(6)]
            assert.isAbove(Math.min(...before), 0)
            const mac = String(inClient("cat", `/sys/class/net/${network.clientInterface}/address`).stdout).trim()
            yield* enforce("block", mac)
            assert.isFalse(reaches())
            const after = [yield* asks(4), yield* asks(6)]
            yield* Effect.logInfo(`answers of Kea by DHCPv4 and v6: ${String(before)}, blocked ${String(after)}`)
            assert.isAbove(after[0]!, 0)
            assert.strictEqual(after[1], 0)
          }).pipe(Effect.provide(enforced({ NETOPS_NFT_TARGET: `netns:${network.serverNamespace}` })))
        }),
      120_000
    )
  }
)
