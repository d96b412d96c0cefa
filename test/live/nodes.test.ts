import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Redacted, Schedule, Schema } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { inject } from "vitest"
import { type Client, makeFetchClient, tokenByPassword } from "../../src/api/client.ts"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { mac } from "../support/automationRows.ts"
import { type Child, startChild } from "../support/childProcess.ts"
import { ClickHouseTest, freshDatabase } from "../support/engines.ts"

const password = "the password of the nodes"
const every_ms = 5000
const takeoverSecondsMax = 11

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-node-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Tries until it succeeds, for up to a minute. */
const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>, until: (value: A) => boolean = () => true) =>
  Effect.retry(
    Effect.filterOrFail(effect, until, () => "not yet"),
    Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(300))
  )

interface Node {
  readonly child: Child
  readonly url: string
  /** How the cluster names it. */
  readonly name: string
}

/** The whole service as a process of its own. It finds no nft, so that nothing outlives it when it is killed. */
const startNode = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const [port, clusterPort] = [yield* freePort, yield* freePort]
  const own = {
    PATH: dirname(process.execPath),
    PORT: String(port),
    NETOPS_CLUSTER_PORT: String(clusterPort),
    NETOPS_DATA_DIR: yield* temporary
  }
  const child = yield* startChild("../../src/cli.ts", { ...env, ...own }, { args: ["serve"] })
  const node: Node = { child, url: `http://127.0.0.1:${port}`, name: `127.0.0.1:${clusterPort}` }
  return node
})

const signedIn = ({ url: baseUrl }: Node) =>
  Effect.gen(function*() {
    const anonymous = yield* makeFetchClient({ baseUrl })
    const token = yield* eventually(tokenByPassword(anonymous, { username: "admin", password }))
    return { token, client: yield* makeFetchClient({ baseUrl, token }) }
  })

const observe = (url: string, token: Redacted.Redacted, clients: ReadonlyArray<number>) =>
  Effect.promise(async () => {
    const event_time = new Date().toISOString()
    const answer = await fetch(`${url}/api/dhcp/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${Redacted.value(token)}`, "content-type": "application/x-ndjson" },
      body: clients.flatMap((client) =>
        ["discover", "request"].map((message_type) =>
          JSON.stringify({ event_time, protocol: "dhcpv4", message_type, client_mac: mac(client) })
        )
      ).join("\n")
    })
    assert.strictEqual(answer.status, 200)
  })

const windowsOf = (client: Client, id: string) =>
  Effect.map(client.automation.listWindows({ path: { id }, urlParams: { limit: 1000 } }), ({ items }) => items)

describe("nodes", () => {
  it.scopedLive(
    "run each due window of a rule once, also when the one that schedules is killed",
    () =>
      Effect.gen(function*() {
        const env = {
          DATABASE_URL: yield* freshDatabase,
          CLICKHOUSE_URL: inject("clickhouseUrl"),
          NETOPS_CLICKHOUSE_DATABASE: (yield* ClickHouse).database,
          NETOPS_CLUSTER: "1",
          NETOPS_ADMIN_PASSWORD: password,
          NETOPS_SECRET_KEY: Buffer.alloc(32, 7).toString("base64")
        }
        const nodes = yield* Effect.all([startNode(env), startNode(env)], { concurrency: "unbounded" })
        const output = () => nodes.map(({ child }) => child.output()).join("\n")
        const [{ client, token }] = yield* Effect.all([signedIn(nodes[0]), signedIn(nodes[1])], {
          concurrency: "unbounded"
        }).pipe(Effect.orElse(() => Effect.die(output())))
        const rule = yield* client.automation.createRule({
          payload: Schema.decodeSync(RuleDraft)({
            name: "busy",
            mode: "enforce",
            threshold: { min_requests: 2 },
            schedule: { type: "interval", every: "5s" },
            cooldown_minutes: 1440,
            actions: ["block"]
          })
        })
        yield* observe(nodes[0].url, token, [1, 2])
        const { leader } = yield* eventually(client.automation.scheduler({}), ({ leader }) => leader !== null)
        yield* eventually(windowsOf(client, rule.id), (all) => all.some(({ verdict }) => verdict === "run"))
        const [killed, left] = leader === nodes[0].name ? nodes : [nodes[1], nodes[0]]
        assert.strictEqual(killed.name, leader)

        const survivor = yield* makeFetchClient({ baseUrl: left.url, token })
        const killedAt = Date.now()
        yield* killed.child.kill("SIGKILL")
        const { last_tick_at } = yield* eventually(
          survivor.automation.scheduler({}),
          ({ leader }) => leader === left.name
        )
        const seconds = (DateTime.toEpochMillis(last_tick_at!) - killedAt) / 1000
        process.stdout.write(`scheduler taken over ${seconds.toFixed(1)} s after kill -9 of its node\n`)
        assert.isAtMost(seconds, takeoverSecondsMax)

        yield* observe(left.url, token, [3])
        const { items } = yield* eventually(
          survivor.actions.list({ urlParams: { limit: 100 } }),
          ({ items }) => items.length > 2
        )
        assert.deepStrictEqual(items.map(({ client }) => client).sort(), [1, 2, 3].map(mac))
        const windows = yield* windowsOf(survivor, rule.id)
        const dues = windows.map(({ due_at }) => DateTime.toEpochMillis(due_at)).reverse()
        const first = (Math.floor(DateTime.toEpochMillis(rule.created_at) / every_ms) + 1) * every_ms
        assert.deepStrictEqual(dues, dues.map((_, index) => first + index * every_ms))
        assert.isAtMost(windows.filter(({ verdict }) => verdict === "running").length, 1)
        const alarms = yield* survivor.alarms.list({ urlParams: { limit: 100 } })
        assert.deepStrictEqual(alarms.items.map(({ client }) => client).sort(), [1, 2, 3].map(mac))
      }).pipe(Effect.provide(ClickHouseTest)),
    180_000
  )
})
