import { FetchHttpClient } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Schedule } from "effect"
import { inject } from "vitest"
import { makeFetchClient, tokenByPassword } from "../../src/api/client.ts"
import { freshDatabase } from "../support/engines.ts"
import { liveSuite } from "../support/live.ts"
import { netns, vethTo } from "../support/netns.ts"
import { adminPassword, forwarded, startService } from "../support/service.ts"
import { dataDir } from "./nftSandbox.ts"

const port = 8080
const at = { family: "inet", table: "edge" }
const draft = (expr: ReadonlyArray<unknown>) => ({
  name: "edge",
  description: "",
  comment: "",
  ruleset: {
    nftables: [
      { add: { table: { family: "inet", name: "edge" } } },
      { add: { chain: { ...at, name: "in", type: "filter", hook: "input", prio: 0, policy: "accept" } } },
      { add: { rule: { ...at, chain: "in", expr } } }
    ]
  }
})
const toPort = { match: { op: "==", left: { payload: { protocol: "tcp", field: "dport" } }, right: port } }
const open = draft([toPort, { accept: null }])
const cut = draft([toPort, { drop: null }])

liveSuite("an apply that cuts off its own service", ["nft", "unshare", "nsenter", "ip"], () => {
  it.scopedLive(
    "is taken back at its deadline, though the service and its process group are killed",
    () =>
      Effect.gen(function*() {
        const there = yield* netns
        const { here, there: host } = yield* vethTo(there)
        const clickhouse = new URL(yield* forwarded(here, inject("clickhouseUrl")))
        const env = {
          HOST: host,
          PORT: String(port),
          NETOPS_DATA_DIR: yield* dataDir,
          NETOPS_NFT_TARGET: `netns:${there.name}`,
          DATABASE_URL: yield* forwarded(here, yield* freshDatabase),
          CLICKHOUSE_URL: clickhouse.href,
          NETOPS_CLICKHOUSE_DATABASE: there.name.replaceAll("-", "_")
        }
        const enter = ["ip", "netns", "exec", there.name]
        const baseUrl = `http://${host}:${port}`
        const service = yield* startService(enter, baseUrl, env)
        const anonymous = yield* makeFetchClient({ baseUrl })
        const token = yield* tokenByPassword(anonymous, { username: "admin", password: adminPassword })
        const { firewall } = yield* makeFetchClient({ baseUrl, token })
        const table = there.run("nft", "-s", "list", "table", "inet", "edge")

        const codes = ({ ruleset }: typeof open) =>
          Effect.map(firewall.validate({ payload: { ruleset } }), ({ warnings }) => warnings.map(({ code }) => code))
        assert.deepStrictEqual(yield* codes(cut), ["caller_locked_out"])
        assert.deepStrictEqual(yield* codes(open), [])

        const { id } = yield* firewall.createConfig({ payload: open })
        yield* firewall.applyConfig({ path: { id }, payload: {} })
        const before = yield* table
        yield* firewall.updateConfig({ path: { id }, payload: cut })
        const answer = yield* firewall.applyConfig({ path: { id }, payload: { confirm_timeout_seconds: 5 } })
        const deadline = DateTime.toEpochMillis(answer.confirm_deadline!)
        assert.notStrictEqual(yield* table, before)
        const isReachable = Effect.tryPromise(() =>
          fetch(`${baseUrl}/health/live`, { signal: AbortSignal.timeout(1_000), headers: { connection: "close" } })
        )
        assert.isTrue((yield* Effect.either(isReachable))._tag === "Left", "the port is open")
        yield* service.kill
        assert.isBelow(Date.now(), deadline)
        assert.notStrictEqual(yield* table, before)

        const restored = yield* Effect.zipWith(table, Effect.sync(Date.now), (text, now) => ({ text, now })).pipe(
          Effect.repeat({ until: ({ text }) => text === before, schedule: Schedule.spaced("20 millis"), times: 1_000 }),
          Effect.zipRight(Effect.sync(Date.now))
        )
        yield* Effect.log(`restored ${restored - deadline} ms after the deadline`)
        assert.isAtLeast(restored, deadline)
        assert.isAtMost(restored - deadline, 1_000)

        yield* startService(enter, baseUrl, env)
        const { applied_version, confirm_deadline, status } = yield* firewall.getConfig({ path: { id } })
        assert.deepStrictEqual({ applied_version, confirm_deadline, status }, {
          applied_version: 1,
          confirm_deadline: null,
          status: "active"
        })
      }).pipe(Effect.provide(FetchHttpClient.layer)),
    120_000
  )
})
