import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Redacted, TestClock } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../../src/layers/clickhouse/ClickHouseClient.ts"
import { ClickHouseError } from "../../src/layers/clickhouse/ClickHouseError.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import { DhcpEvents, EventStoreFailed } from "../../src/services/DhcpEvents.ts"
import { dhcpEventsContract } from "../contract/DhcpEvents.ts"
import { ClickHouseTest } from "../support/engines.ts"

dhcpEventsContract("clickhouse", Layer.provide(DhcpEventsClickHouse, ClickHouseTest), 6)

const nobody = Layer.scoped(ClickHouse, clickHouseClient(Redacted.make("http://127.0.0.1:1"), "netops"))

it.effect("fails where ClickHouse is out of reach, a list as a defect that names it", () =>
  Effect.gen(function*() {
    const events = yield* DhcpEvents
    const now = new Date()
    const event = { event_time: now.toISOString(), protocol: "dhcpv4", message_type: "discover" } as const
    assert.instanceOf(yield* Effect.flip(events.append({ number: 1, events: [event] })), EventStoreFailed)
    assert.instanceOf(yield* Effect.flip(events.retentionDays), EventStoreFailed)
    const listed = yield* Effect.exit(events.list({ start: new Date(0), end: now, limit: 1, count: false }))
    const defect = Exit.causeOption(listed).pipe(Option.flatMap(Cause.dieOption), Option.getOrThrow)
    assert.instanceOf(defect, ClickHouseError)
    assert.strictEqual((defect as ClickHouseError).reason, "unreachable")
  }).pipe(Effect.provide(Layer.provide(DhcpEventsClickHouse, nobody))))

it.effect("reads a changed retention after a minute, and asks again at once after a failure", () =>
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const events = yield* DhcpEvents
    const keepFor = (ttl: string) => clickhouse.command({ query: `ALTER TABLE dhcp_events ${ttl}` })
    yield* keepFor("REMOVE TTL")
    assert.instanceOf(yield* Effect.flip(events.retentionDays), EventStoreFailed)
    yield* keepFor("MODIFY TTL toDateTime(event_time) + INTERVAL 7 DAY")
    assert.strictEqual(yield* events.retentionDays, 7)
    yield* keepFor("MODIFY TTL toDateTime(event_time) + toIntervalDay(180)")
    assert.strictEqual(yield* events.retentionDays, 7)
    yield* TestClock.adjust("61 seconds")
    assert.strictEqual(yield* events.retentionDays, 180)
  }).pipe(Effect.provide(Layer.provideMerge(DhcpEventsClickHouse, ClickHouseTest))))
