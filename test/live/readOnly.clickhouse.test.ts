import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, Stream } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { inject } from "vitest"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../../src/layers/clickhouse/ClickHouseClient.ts"
import { ClickHouseLive } from "../../src/layers/clickhouse/ClickHouseLive.ts"
import { DetectionsClickHouse } from "../../src/layers/clickhouse/DetectionsClickHouse.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import { MetricsClickHouse } from "../../src/layers/clickhouse/MetricsClickHouse.ts"
import { ObservedClientsClickHouse } from "../../src/layers/clickhouse/ObservedClientsClickHouse.ts"
import { RetentionClickHouse } from "../../src/layers/clickhouse/RetentionClickHouse.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { Retention } from "../../src/services/Retention.ts"
import { ClickHouseTest } from "../support/engines.ts"

const forbidden = [
  "INSERT INTO schema_migrations (id, name) VALUES (99, 'x')",
  "INSERT INTO schema_migrations (id, name) SELECT 99, 'x'",
  "CREATE TABLE made (a UInt8) ENGINE = Memory",
  "CREATE TEMPORARY TABLE made (a UInt8)",
  "ALTER TABLE dhcp_events MODIFY TTL toDateTime(event_time) + INTERVAL 1 DAY",
  "TRUNCATE TABLE dhcp_events",
  "SET readonly = 0",
  "SELECT 1 SETTINGS readonly = 0",
  "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
  "SELECT * FROM file('/etc/hostname', 'LineAsString', 'a String')",
  "SELECT 1 INTO OUTFILE '/tmp/netops-read-only-test'",
  "SELECT 1 INTO/**/OUTFILE '/tmp/netops-read-only-test'"
]

const events = Layer.mergeAll(
  DetectionsClickHouse,
  DhcpEventsClickHouse,
  MetricsClickHouse,
  ObservedClientsClickHouse,
  RetentionClickHouse
)

/** Passes requests on to the engine and keeps whom they came from, and what they asked. */
const recorder = Effect.gen(function*() {
  const seen: Array<{ readonly user: string; readonly query: string }> = []
  const engine = new URL(inject("clickhouseUrl"))
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks)
      const login = Buffer.from(request.headers.authorization?.slice("Basic ".length) ?? "", "base64").toString()
      const url = new URL(request.url ?? "/", engine)
      seen.push({ user: login.split(":")[0]!, query: `${url.searchParams.get("query") ?? ""}${body.toString("utf8")}` })
      fetch(new URL(`${url.pathname}${url.search}`, engine.origin), {
        method: request.method ?? "GET",
        headers: {
          ...(request.headers["content-type"] === undefined ? {} : { "content-type": request.headers["content-type"] }),
          authorization: request.headers.authorization ?? ""
        },
        ...(body.length === 0 ? {} : { body })
      }).then(async (answer) => {
        const code = answer.headers.get("x-clickhouse-exception-code")
        response.writeHead(answer.status, code === null ? {} : { "x-clickhouse-exception-code": code })
        response.end(Buffer.from(await answer.arrayBuffer()))
      }, () => response.destroy())
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => void server.close())
  )
  const through = (login: string) => {
    const url = new URL(login)
    url.port = String((server.address() as AddressInfo).port)
    return Redacted.make(url.href)
  }
  return { seen, through }
})

layer(ClickHouseTest)("the login that reads", (it) => {
  it.effect("can't change anything, nor reach a file or another server, whatever it sends", () =>
    Effect.gen(function*() {
      const { database } = yield* ClickHouse
      const { origin, password, username } = new URL(inject("clickhouseReadUrl"))
      for (const extra of ["", "&readonly=0", "&readonly=2"]) {
        for (const query of forbidden) {
          const response = yield* Effect.promise(() =>
            fetch(`${origin}/?database=${database}${extra}&query=${encodeURIComponent(query)}`, {
              method: "POST",
              body: "\n",
              headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` }
            })
          )
          assert.notStrictEqual(response.headers.get("x-clickhouse-exception-code"), null, `${query}${extra}`)
          yield* Effect.promise(() => response.text())
        }
      }
    }))

  it.effect("is refused the same through the client, row by row too", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      for (const query of forbidden) {
        assert.strictEqual((yield* Effect.flip(clickhouse.query({ query }))).reason, "rejected", query)
        yield* Effect.flip(Stream.runDrain(clickhouse.stream({ query })))
      }
      const kept = "SELECT count() AS kept FROM schema_migrations WHERE id = 99"
      assert.deepStrictEqual((yield* clickhouse.query({ query: kept })).rows, [{ kept: 0 }])
    }))

  it.scoped("is the one of every read, and of nothing that writes", () =>
    Effect.gen(function*() {
      const { database } = yield* ClickHouse
      const { seen, through } = yield* recorder
      const client = clickHouseClient(through(inject("clickhouseUrl")), database, {
        readUrl: through(inject("clickhouseReadUrl"))
      })
      yield* Effect.gen(function*() {
        const now = new Date()
        const range = { start: new Date(now.getTime() - 3_600_000), end: now }
        const query = {
          start_ms: range.start.getTime(),
          end_ms: range.end.getTime(),
          step_s: 60,
          limit: 10,
          aggregate: "uniq" as const,
          exclude_blocked: false,
          protocol: "all" as const
        }
        const dhcpEvents = yield* DhcpEvents
        yield* dhcpEvents.append({
          number: 1,
          events: [{
            event_time: now.toISOString(),
            protocol: "dhcpv4",
            message_type: "discover",
            client_mac: "02:00:00:00:00:01"
          } as never]
        })
        yield* dhcpEvents.list({ ...range, limit: 10, count: true })
        yield* dhcpEvents.retentionDays
        const metrics = yield* Metrics
        yield* metrics.uniqueIps({ query, filter: undefined, except: [] })
        yield* metrics.alarmStats({ query, filter: undefined, except: [] })
        yield* metrics.traffic({ query, filter: undefined, except: [] })
        const retention = yield* Retention
        yield* retention.config
        yield* retention.change({ tables: [{ table_name: "firewall_events", ttl_days: 10 }] })
        yield* Stream.runDrain((yield* ClickHouse).stream({ query: "SELECT 1" }))
      }).pipe(Effect.provide(events.pipe(Layer.provideMerge(Layer.scoped(ClickHouse, client)))))
      const asked = (user: string) => seen.filter((one) => one.user === user).map(({ query }) => query)
      assert.isAbove(asked("netops_reader").length, 8)
      for (const query of asked("netops_reader")) assert.notMatch(query, /^\s*(?:INSERT|ALTER|CREATE)/)
      assert.strictEqual(asked("netops").length, 2)
      for (const query of asked("netops")) assert.match(query, /^\s*(?:INSERT|ALTER)/)
    }))
})

const start = (settings: Readonly<Record<string, string>>) =>
  Layer.build(ClickHouseLive).pipe(
    Effect.scoped,
    Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings)))))
  )

describe("a login of its own for reads", () => {
  it.effect("is tried at the start, and named where it doesn't do", () =>
    Effect.gen(function*() {
      const CLICKHOUSE_URL = inject("clickhouseUrl")
      yield* start({ CLICKHOUSE_URL, NETOPS_CLICKHOUSE_READ_URL: inject("clickhouseReadUrl") })
      const wrong = new URL(inject("clickhouseReadUrl"))
      wrong.password = "wrong"
      for (const url of [wrong.href, "http://127.0.0.1:1", "ftp://x", "not a url"]) {
        const error = yield* Effect.flip(start({ CLICKHOUSE_URL, NETOPS_CLICKHOUSE_READ_URL: url }))
        assert.match(error instanceof Error ? error.message : "", /^NETOPS_CLICKHOUSE_READ_URL: /)
        assert.notInclude(error instanceof Error ? error.message : "", "wrong")
      }
    }))
})
