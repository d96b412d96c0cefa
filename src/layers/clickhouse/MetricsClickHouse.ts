import { Clock, Config, Duration, Effect, Layer, Schema } from "effect"
import { Protocol } from "../../schema/DhcpEvent.ts"
import { Metrics, type Point } from "../../services/Metrics.ts"
import { planUniqueIps } from "../../services/MetricsPlan.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { compileAlarmStats, type Compiled, compileTraffic, compileUniqueIps } from "./MetricsSql.ts"
import { tableTtls } from "./tableTtls.ts"

const Points = Schema.Array(Schema.Struct({ protocol: Protocol, time: Schema.Int, value: Schema.Number }))
const Alarms = Schema.Tuple(
  Schema.Struct({ firing: Schema.Int, acknowledged: Schema.Int, resolved: Schema.Int, total: Schema.Int })
)
const Traffic = Schema.Array(
  Schema.Struct({ time: Schema.Int, inbound_bytes: Schema.Number, outbound_bytes: Schema.Number })
)

const day = 86_400_000

/**
 * Metrics from ClickHouse, each in one query of at most `NETOPS_METRICS_TIMEOUT` (30 seconds). A failure is a defect
 * that holds the `ClickHouseError`.
 */
export const MetricsClickHouse = Layer.effect(
  Metrics,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const timeout = yield* Config.duration("NETOPS_METRICS_TIMEOUT").pipe(Config.withDefault(Duration.seconds(30)))

    const [ttls, forget] = yield* Effect.cachedInvalidateWithTTL(
      Effect.provideService(tableTtls, ClickHouse, clickhouse),
      "1 minute"
    )
    const keptDays = (table: string) =>
      ttls.pipe(
        Effect.onError(() => forget),
        Effect.map((days) => days.get(table) ?? Number.POSITIVE_INFINITY)
      )

    const ask = <A, I>(rows: Schema.Schema<A, I>, compiled: Compiled) =>
      clickhouse.query({ ...compiled, timeout }).pipe(
        Effect.flatMap((answer) => Schema.decodeUnknown(rows)(answer.rows)),
        Effect.orDie
      )

    return Metrics.of({
      uniqueIps: Effect.fn("Metrics.uniqueIps")(function*(request) {
        const now = yield* Clock.currentTimeMillis
        const plan = planUniqueIps(request.query, request.filter !== undefined || request.except.length > 0, {
          events_ms: now - (yield* keptDays("dhcp_events")) * day,
          minutes_ms: now - (yield* keptDays("dhcp_unique_ips_1m")) * day
        })
        const rows = yield* ask(Points, compileUniqueIps(request, plan))
        const series = new Map<Protocol, Array<Point>>()
        for (const { protocol, time, value } of rows) {
          const points = series.get(protocol) ?? []
          if (points.length === 0) series.set(protocol, points)
          points.push([time * 1000, value])
        }
        return { rollup: plan.rollup, series: Array.from(series, ([protocol, points]) => ({ protocol, points })) }
      }, Effect.orDie),
      alarmStats: Effect.fn("Metrics.alarmStats")(function*(request) {
        const [counts] = yield* ask(Alarms, compileAlarmStats(request))
        return counts
      }),
      traffic: Effect.fn("Metrics.traffic")(function*(request) {
        const rows = yield* ask(Traffic, compileTraffic(request))
        return rows.map(({ time, ...bytes }) => ({ time_ms: time * 1000, ...bytes }))
      }),
      eventsKeptDays: Effect.orDie(keptDays("dhcp_events"))
    })
  })
)
