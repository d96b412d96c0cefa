import { Effect, Layer } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import { FirewallEventsClickHouse } from "../../src/layers/clickhouse/FirewallEventsClickHouse.ts"
import { MetricsClickHouse } from "../../src/layers/clickhouse/MetricsClickHouse.ts"
import { TrafficSamplesClickHouse } from "../../src/layers/clickhouse/TrafficSamplesClickHouse.ts"
import type { FirewallEvent } from "../../src/schema/FirewallEvent.ts"
import { firewallEventsContract } from "../contract/FirewallEvents.ts"
import { metricsContract } from "../contract/Metrics.ts"
import { trafficSamplesContract } from "../contract/TrafficSamples.ts"
import { ClickHouseTest } from "../support/engines.ts"

const Real = Layer.fresh(
  Layer.mergeAll(MetricsClickHouse, TrafficSamplesClickHouse, FirewallEventsClickHouse, DhcpEventsClickHouse).pipe(
    Layer.provideMerge(ClickHouseTest),
    Layer.orDie
  )
)

const columns = [
  "action",
  "direction",
  "protocol",
  "src_port",
  "dst_port",
  "interface",
  "rule",
  "bytes",
  "source"
]

const address = (column: string) => `replaceRegexpOne(toString(${column}), '^::ffff:', '') AS ${column}`

const stored = Effect.flatMap(ClickHouse, (clickhouse) =>
  clickhouse.query({
    query: `SELECT concat(replaceOne(toString(event_time), ' ', 'T'), 'Z') AS event_time, ${address("src_ip")},
      ${address("dst_ip")}, ${columns.join(", ")}
      FROM firewall_events`
  })).pipe(
    Effect.map(({ rows }) =>
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row as Record<string, unknown>).filter(([, value]) => value !== "" && value !== null)
        ) as unknown as FirewallEvent
      )
    ),
    Effect.orDie
  )

metricsContract("clickhouse", Real, true, 60)
trafficSamplesContract("clickhouse", Real, 6)
firewallEventsContract("clickhouse", Real, stored, 6)
