import { SqlClient } from "@effect/sql"
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
import { Nft } from "../../src/services/Nft.ts"
import { PostgresTest } from "../support/engines.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const run = (...[file, ...args]: [string, ...Array<string>]) => execFileSync(file, args, { stdio: "pipe" })
const clients = ["a", "b"] as const
const macs = { a: "02:ee:00:00:00:0a", b: "02:ee:00:00:00:0b" } as const

/** Two clients and a server around a router, each in a network namespace of its own. */
const network = Effect.acquireRelease(
  Effect.sync(() => {
    const salt = randomBytes(3).toString("hex")
    const name = (node: string) => `nop${salt}${node}`
    const inside = (node: string, ...args: ReadonlyArray<string>) => run("ip", "-n", name(node), ...args)
    for (const node of ["r", "s", ...clients]) run("ip", "netns", "add", name(node))
    for (const [index, node] of ["s", ...clients].entries()) {
      run("ip", "-n", name(node), "link", "add", "up0", "type", "veth", "peer", "name", `to${node}`, "netns", name("r"))
      if (node !== "s") inside(node, "link", "set", "up0", "address", macs[node as "a"])
      inside(node, "addr", "add", `10.77.${index}.2/24`, "dev", "up0")
      inside(node, "link", "set", "up0", "up")
      inside("r", "addr", "add", `10.77.${index}.1/24`, "dev", `to${node}`)
      inside("r", "link", "set", `to${node}`, "up")
      inside(node, "route", "add", "default", "via", `10.77.${index}.1`)
    }
    run("ip", "netns", "exec", name("r"), "sysctl", "-qw", "net.ipv4.ip_forward=1")
    // nothing listens there: a packet that arrives is answered by a reset
    const connect = ["timeout", "1", "bash", "-c", ": </dev/tcp/10.77.0.2/9"]
    const reaches = (node: "a" | "b") =>
      String(spawnSync("ip", ["netns", "exec", name(node), ...connect]).stderr).includes("refused")
    return { name, reaches }
  }),
  ({ name }) =>
    Effect.sync(() => {
      for (const node of ["r", "s", ...clients]) spawnSync("ip", ["netns", "del", name(node)], { stdio: "ignore" })
    })
)

const enforced = (settings: Record<string, string>) =>
  Layer.unwrapScoped(Effect.map(dataDir, (path) => {
    const nft = nftIn(path, settings)
    return Layer.mergeAll(
      EnforcerNft.pipe(Layer.provide([nft, DesiredMacsPg])),
      ActionsPg,
      nft
    ).pipe(Layer.provideMerge(PostgresTest))
  }))

const order = (type: ActionType, mac: string, minutes?: number) =>
  Effect.gen(function*() {
    const at = yield* DateTime.now
    const { action } = yield* (yield* Actions).order({
      id: ActionId.make(randomUUID()),
      type,
      tag: null,
      client: mac,
      client_mac: mac,
      expires_at: minutes === undefined ? null : DateTime.add(at, { minutes })
    }, { at, reason: "as asked", origin: { kind: "user", id: "1" } })
    return action
  })

const nftCommand = (command: object) => Effect.flatMap(Nft, (nft) => nft.apply([command as Record<string, unknown>]))
const shows = (mac: string) => Effect.flatMap(Nft, (nft) => Effect.map(nft.listText, (text) => text.includes(mac)))

liveSuite("enforcement in network namespaces", ["nft", "ip", "bash", "nsenter"], () => {
  it.scopedLive("drops what a blocked client sends, lets its neighbour pass, and gives way to allow and removal", () =>
    Effect.gen(function*() {
      const { name, reaches } = yield* network
      yield* Effect.gen(function*() {
        const enforcer = yield* Enforcer
        const actions = yield* Actions
        yield* enforcer.pass
        assert.deepStrictEqual([reaches("a"), reaches("b")], [true, true])
        const block = yield* order("block", macs.a)
        yield* enforcer.pass
        assert.deepStrictEqual([reaches("a"), reaches("b")], [false, true])
        assert.isNotNull((yield* actions.get(block.id)).synced_at)
        const allow = yield* order("allow", macs.a)
        yield* enforcer.pass
        assert.isTrue(reaches("a"))
        yield* actions.remove(allow.id, yield* DateTime.now)
        yield* order("quarantine", macs.b, 60)
        yield* enforcer.pass
        assert.deepStrictEqual([reaches("a"), reaches("b")], [false, false])
        yield* nftCommand({ delete: { table: { family: "inet", name: "netops_enforce" } } })
        assert.isTrue(reaches("a"))
        yield* enforcer.verify
        assert.deepStrictEqual([reaches("a"), reaches("b")], [false, false])
        yield* actions.removeAll(yield* DateTime.now)
        yield* enforcer.pass
        assert.deepStrictEqual([reaches("a"), reaches("b")], [true, true])
      }).pipe(Effect.provide(enforced({ NETOPS_NFT_TARGET: `netns:${name("r")}` })))
    }))

  it.scopedLive("repairs elements and frames that others changed, and prolongs timeouts in place", () =>
    Effect.gen(function*() {
      const enforcer = yield* Enforcer
      const at = { family: "inet", table: "netops_enforce" }
      yield* order("block", macs.a, 5)
      yield* enforcer.pass
      yield* order("block", macs.a, 600)
      yield* enforcer.pass
      assert.isTrue(yield* shows(`${macs.a} timeout 10h`))
      yield* nftCommand({ delete: { element: { ...at, name: "blocked_macs", elem: [macs.a] } } })
      yield* nftCommand({ flush: { chain: { ...at, name: "from_clients" } } })
      yield* nftCommand({ add: { element: { ...at, name: "quarantined_macs", elem: [macs.b] } } })
      yield* enforcer.verify
      const text = yield* (yield* Nft).listText
      assert.include(text, `${macs.a} timeout`)
      assert.notInclude(text, macs.b)
      assert.include(text, "ether saddr @blocked_macs")
      // a table of another shape gives way
      yield* nftCommand({ delete: { table: { family: "inet", name: "netops_enforce" } } })
      yield* nftCommand({ add: { table: { family: "inet", name: "netops_enforce" } } })
      yield* nftCommand({ add: { set: { ...at, name: "blocked_macs", type: "ipv4_addr" } } })
      yield* enforcer.verify
      assert.isTrue(yield* shows(`${macs.a} timeout`))
    }).pipe(Effect.provide(enforced({ NETOPS_NFT_BRIDGE: "1" }))))

  it.scopedLive("cleans up each expired action once, from the packet filter first", () =>
    Effect.gen(function*() {
      const enforcer = yield* Enforcer
      const sql = yield* SqlClient.SqlClient
      yield* order("block", macs.a, 5)
      yield* order("block", macs.b)
      yield* enforcer.pass
      yield* sql`UPDATE actions SET created_at = now() - interval '1 hour', expires_at = now() - interval '1 minute'
        WHERE client_mac = ${macs.a}`
      assert.isTrue(yield* shows(macs.a))
      assert.strictEqual(yield* enforcer.cleanup({ dryRun: true, limit: 10 }), 1)
      assert.isTrue(yield* shows(macs.a))
      assert.strictEqual(yield* enforcer.cleanup({ dryRun: false, limit: 10 }), 1)
      assert.isFalse(yield* shows(macs.a))
      assert.isTrue(yield* shows(macs.b))
      assert.strictEqual(yield* enforcer.cleanup({ dryRun: false, limit: 10 }), 0)
    }).pipe(Effect.provide(enforced({}))))
})
