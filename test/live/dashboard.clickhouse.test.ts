import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFile } from "node:fs/promises"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import { FirewallEventsClickHouse } from "../../src/layers/clickhouse/FirewallEventsClickHouse.ts"
import { sqlTime } from "../../src/layers/clickhouse/SqlParams.ts"
import { TrafficSamplesClickHouse } from "../../src/layers/clickhouse/TrafficSamplesClickHouse.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { FirewallEvents } from "../../src/services/FirewallEvents.ts"
import { TrafficSamples } from "../../src/services/TrafficSampler.ts"
import { ClickHouseTest } from "../support/engines.ts"

interface Dashboard {
  readonly panels: ReadonlyArray<{
    readonly title: string
    readonly targets: ReadonlyArray<{ readonly rawSql: string }>
  }>
}

const deploy = (path: string) =>
  Effect.promise(() => readFile(new URL(`../../deploy/${path}`, import.meta.url), "utf8"))

/** What Grafana's data source makes of its macros, for the day until now. */
const expanded = (sql: string, now: number) => {
  const to = `toDateTime64(${now / 1000}, 3, 'UTC')`
  const from = `toDateTime64(${(now - 86_400_000) / 1000}, 3, 'UTC')`
  return sql
    .replace(/\$__timeFilter\((\w+)\)/g, `($1 >= toDateTime(${from}) AND $1 <= toDateTime(${to}))`)
    .replace(/\$__timeInterval\((\w+)\)/g, "toStartOfInterval(toDateTime($1), INTERVAL 60 second)")
    .replaceAll("$__interval_s", "60")
    .replaceAll("$__fromTime", from)
    .replaceAll("$__toTime", to)
}

const Live = Layer.mergeAll(DhcpEventsClickHouse, FirewallEventsClickHouse, TrafficSamplesClickHouse).pipe(
  Layer.provideMerge(ClickHouseTest)
)

layer(Live)("the Grafana dashboard", (it) => {
  it.effect("asks what the engine can answer, and each panel shows what was observed", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const now = Date.now()
      const event_time = new Date(now - 3_600_000).toISOString()
      yield* (yield* DhcpEvents).append({
        number: 1,
        events: [
          { event_time, protocol: "dhcpv4", message_type: "request", client_mac: "02:00:00:00:00:01" } as never,
          {
            event_time,
            protocol: "dhcpv4",
            message_type: "ack",
            client_mac: "02:00:00:00:00:01",
            assigned_ip: "192.0.2.1"
          } as never
        ]
      })
      yield* (yield* FirewallEvents).append({
        number: 2,
        events: [{
          event_time,
          action: "drop",
          direction: "in",
          src_ip: "192.0.2.1",
          dst_ip: "192.0.2.2"
        } as never]
      })
      const packets = { inbound_packets: 1, outbound_packets: 1, blocked_bytes: 0, blocked_packets: 0 }
      yield* (yield* TrafficSamples).append({
        at_ms: now - 60_000,
        node: "n",
        target: "t",
        inbound_bytes: 30,
        outbound_bytes: 10,
        ...packets
      })
      yield* clickhouse.insert({
        table: "alarm_transitions",
        rows: [{
          at: sqlTime(event_time),
          alarm_id: "00000000-0000-4000-8000-000000000001",
          rule_id: "00000000-0000-4000-8000-000000000002",
          client: "c",
          severity: "warning",
          to_status: "firing"
        }]
      })
      const { panels } = JSON.parse(yield* deploy("grafana/dashboards/netops.json")) as Dashboard
      const shown = new Map<string, Record<string, unknown>>()
      for (const { targets: [target], title } of panels) {
        const query = expanded(target!.rawSql, now)
        assert.notInclude(query, "$__", title)
        const { rows } = yield* clickhouse.query({ query })
        assert.strictEqual(rows.length, 1, title)
        shown.set(title, rows[0] as Record<string, unknown>)
      }
      assert.strictEqual(shown.size, 8)
      const told = (title: string, ...names: ReadonlyArray<string>) => names.map((name) => shown.get(title)![name])
      assert.deepStrictEqual(told("Unique addresses", "protocol", "addresses"), ["dhcpv4", 1])
      assert.deepStrictEqual(told("DHCP messages and requests", "requests", "messages"), [1, 2])
      assert.deepStrictEqual(told("Traffic", "inbound", "outbound"), [30, 10])
      assert.deepStrictEqual(told("Inbound to outbound", "ratio"), [3])
      assert.deepStrictEqual(told("Busiest clients", "client", "requests", "addresses"), ["02:00:00:00:00:01", 1, 1])
      assert.deepStrictEqual(told("Open alarms", "firing", "acknowledged"), [1, 0])
      assert.isAbove(shown.get("Disk used")!["used"] as number, 0)
      assert.deepStrictEqual(told("What firewalls refused", "action", "packets"), ["drop", 1])
    }))

  it.effect("reads by the login that compose gives to readers", () =>
    Effect.gen(function*() {
      assert.include(yield* deploy("grafana/provisioning/datasources/clickhouse.yaml"), "username: netops_reader")
      const [, reader = ""] = (yield* deploy("clickhouse/users.xml")).split("<netops_reader>")
      const grants = [...reader.matchAll(/<query>GRANT (\w+) ON/g)].map(([, privilege]) => privilege)
      assert.deepStrictEqual(grants, ["SELECT", "SELECT"])
    }))
})
