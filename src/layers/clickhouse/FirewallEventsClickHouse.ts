import { Effect, Layer } from "effect"
import type { FirewallEvent } from "../../schema/FirewallEvent.ts"
import { EventStoreFailed } from "../../services/DhcpEvents.ts"
import { FirewallEvents } from "../../services/FirewallEvents.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { sqlIp, sqlTime } from "./SqlParams.ts"
import { tableTtls } from "./tableTtls.ts"

const toRow = (event: FirewallEvent, batch: number, row: number) => ({
  event_time: sqlTime(event.event_time),
  action: event.action,
  direction: event.direction,
  src_ip: sqlIp(event.src_ip),
  dst_ip: sqlIp(event.dst_ip),
  protocol: event.protocol ?? "",
  src_port: event.src_port ?? null,
  dst_port: event.dst_port ?? null,
  interface: event.interface ?? "",
  rule: event.rule ?? "",
  bytes: event.bytes ?? null,
  source: event.source ?? "",
  batch,
  row
})

/** Events in the table `firewall_events`; a batch under a token is stored once. */
export const FirewallEventsClickHouse = Layer.effect(
  FirewallEvents,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const failed = (cause: unknown) => new EventStoreFailed({ cause })
    const [ttls, forget] = yield* Effect.cachedInvalidateWithTTL(
      Effect.provideService(tableTtls, ClickHouse, clickhouse),
      "1 minute"
    )
    return FirewallEvents.of({
      append: ({ deduplicationToken, events, number }) =>
        events.length === 0 ? Effect.void : clickhouse.insert({
          table: "firewall_events",
          rows: events.map((event, row) => toRow(event, number, row)),
          settings: { max_partitions_per_insert_block: "0" },
          ...(deduplicationToken === undefined ? {} : { deduplicationToken })
        }).pipe(Effect.mapError(failed)),
      retentionDays: ttls.pipe(
        Effect.mapError(failed),
        Effect.flatMap((days) => {
          const kept = days.get("firewall_events")
          return kept === undefined ? failed(new Error("firewall_events has no TTL in days")) : Effect.succeed(kept)
        }),
        Effect.onError(() => forget)
      )
    })
  })
)
