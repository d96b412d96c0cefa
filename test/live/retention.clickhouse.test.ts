import { assert, it, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import { RetentionClickHouse } from "../../src/layers/clickhouse/RetentionClickHouse.ts"
import { prettyBytes, RetentionConfig } from "../../src/schema/Retention.ts"
import { diskSpace } from "../../src/services/diskSpace.ts"
import { Retention } from "../../src/services/Retention.ts"
import { retentionContract } from "../contract/Retention.ts"
import { ClickHouseTest } from "../support/engines.ts"

retentionContract("clickhouse", Layer.provide(RetentionClickHouse, ClickHouseTest))

const day = 86_400_000

const at = (days: number, second: number) => new Date(Date.now() - days * day - second * 1000).toISOString()

/** Events of every day of the last twenty, 50 a day. */
const events = Array.from({ length: 20 }, (_, days) =>
  Array.from({ length: 50 }, (_, index) => ({
    event_time: at(days, index),
    protocol: "dhcpv4" as const,
    message_type: "discover" as const,
    client_mac: `02:00:00:00:00:${index.toString(16).padStart(2, "0")}`
  }))).flat()

const pause = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))

const count = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  const { rows } = yield* clickhouse.query({ query: "SELECT count() AS rows FROM dhcp_events" })
  return (rows[0] as { readonly rows: number }).rows
})

layer(RetentionClickHouse.pipe(Layer.provideMerge(ClickHouseTest)))("retention on the real engine", (it) => {
  it.effect("tells the store's own figures", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const retention = yield* Retention
      yield* clickhouse.insert({
        table: "dhcp_events",
        rows: events.map((event, row) => toRow(event as never, 1, row)),
        settings: { max_partitions_per_insert_block: "0" }
      })
      const config = yield* retention.config
      assert.isTrue(Schema.is(RetentionConfig)(config))
      const { rows } = yield* clickhouse.query({
        query:
          `SELECT table AS name, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, formatReadableSize(bytes) AS pretty
          FROM system.parts WHERE database = currentDatabase() AND active GROUP BY table`
      })
      const held = rows as ReadonlyArray<{ name: string; rows: number; bytes: number; pretty: string }>
      const all = [...config.tables, ...config.non_configurable_tables]
      assert.isAbove(held.length, 4)
      for (const { bytes, name, pretty, rows } of held) {
        const told = all.find(({ table_name }) => table_name === name)!
        assert.deepStrictEqual([told.row_count, told.size_bytes, told.size_pretty], [rows, bytes, pretty])
      }
      assert.deepStrictEqual(config.non_configurable_tables.map(({ table_name }) => table_name), ["schema_migrations"])
      assert.strictEqual(config.disk_space.total_bytes, config.disk_space.used_bytes + config.disk_space.free_bytes)
      assert.isAbove(config.disk_space.used_bytes, 0)
    }))

  it.effect("takes away what it says, whole days of it, and no more", () =>
    Effect.gen(function*() {
      const retention = yield* Retention
      const before = yield* count
      const change = { tables: [{ table_name: "dhcp_events", ttl_days: 10 }] } as const
      const [planned] = yield* retention.change({ ...change, dry_run: true })
      assert.strictEqual(yield* count, before)
      assert.isTrue(planned!.rows === 450 || planned!.rows === 500, `${planned!.rows} rows`)
      assert.isAbove(planned!.bytes, 0)
      yield* retention.change(change)
      // The parts go by a mutation in the background.
      for (let wait = 0; wait < 400 && (yield* count) === before; wait++) yield* pause
      assert.strictEqual(yield* count, before - planned!.rows)
      const { tables } = yield* retention.config
      assert.strictEqual(tables.find(({ table_name }) => table_name === "dhcp_events")!.current_ttl_days, 10)
    }))

  it.effect.prop(
    "writes sizes as the store does",
    [fc.array(fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(1023, 1024, 1048575, 1048576)), { minLength: 1 })],
    ([sizes]) =>
      Effect.gen(function*() {
        const clickhouse = yield* ClickHouse
        const { rows } = yield* clickhouse.query({
          query: "SELECT arrayMap(size -> formatReadableSize(size), {sizes:Array(UInt64)}) AS pretty",
          params: { sizes }
        })
        assert.deepStrictEqual(rows, [{ pretty: sizes.map(prettyBytes) }])
      }),
    { fastCheck: { numRuns: 20 } }
  )
})

it("warns of a disk from 80 % on", () => {
  assert.isFalse(diskSpace(1000, 201).warning_level)
  assert.isTrue(diskSpace(1000, 200).warning_level)
  assert.isFalse(diskSpace(0, 0).warning_level)
})
