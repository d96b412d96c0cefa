import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import { MetricsClickHouse } from "../../src/layers/clickhouse/MetricsClickHouse.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { ClickHouseTest } from "../support/engines.ts"

const hour = 3_600_000
const end = Math.floor(Date.now() / hour) * hour
const sources = ["dhcp_events", "dhcp_unique_ips_1m", "dhcp_unique_ips_1h"] as const

const Live = MetricsClickHouse.pipe(
  Layer.provideMerge(DhcpEventsClickHouse),
  Layer.provideMerge(ClickHouseTest),
  Layer.orDie
)

it.effect("the source that an answer names is the one that was read: without its rows nothing is left", () =>
  Effect.gen(function*() {
    for (const source of sources) {
      const told = yield* Effect.gen(function*() {
        const clickhouse = yield* ClickHouse
        const metrics = yield* Metrics
        const { append } = yield* DhcpEvents
        yield* append({
          number: 1,
          events: Array.from({ length: 50 }, (_, index) => ({
            event_time: new Date(end - hour + index * 60_000).toISOString(),
            protocol: "dhcpv4",
            message_type: "ack",
            client_mac: "02:00:00:00:00:01",
            assigned_ip: `192.0.2.${index + 1}`
          } as never))
        })
        const ask = (step_s: number) =>
          metrics.uniqueIps({
            query: {
              start_ms: end - 2 * hour,
              end_ms: end,
              step_s,
              limit: 1000,
              aggregate: "uniq",
              exclude_blocked: false,
              protocol: "all"
            },
            filter: undefined,
            except: []
          })
        yield* clickhouse.command({ query: `TRUNCATE TABLE ${source}` })
        return yield* Effect.forEach([90, 60, 3600], ask)
      }).pipe(Effect.provide(Layer.fresh(Live)))
      const named = told.map(({ rollup }) => rollup === "none" ? "dhcp_events" : rollup)
      assert.deepStrictEqual(named, [...sources])
      assert.deepStrictEqual(told.map(({ series }) => series.length > 0), sources.map((other) => other !== source))
    }
  }))
