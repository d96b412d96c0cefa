import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import createRollups from "../../src/layers/clickhouse/migrations/0002_create_dhcp_rollups.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { ClickHouseTest } from "../support/engines.ts"

const Figures = Schema.Array(Schema.Struct({
  name: Schema.String,
  events: Schema.Int,
  requests: Schema.Int,
  addresses: Schema.Int
}))

/** Figures of the raw events and of each rollup as a whole; those of one protocol must be equal. */
const figures = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  const activity = (table: string) =>
    `SELECT '${table}' AS name, sum(events) AS events, sum(requests) AS requests,
      uniqExactArrayMerge(addresses) AS addresses FROM ${table}`
  const distinct = (table: string) =>
    `SELECT '${table}' AS name, (SELECT count() FROM dhcp_events) AS events, sum(requests) AS requests,
      (SELECT uniqCombined64ArrayMerge(16)(addresses) FROM ${table}) AS addresses FROM dhcp_activity_1h`
  const { rows } = yield* clickhouse.query({
    query: `SELECT * FROM (
      SELECT 'raw' AS name, count() AS events,
        countIf(if(protocol = 'dhcpv4',
          message_type IN ('discover', 'request', 'decline', 'release', 'inform'),
          message_type IN ('solicit', 'request', 'confirm', 'renew', 'rebind', 'release', 'decline',
            'information-request'))) AS requests,
        uniqExactArray(arrayFilter(ip -> ip != toIPv6('::'), [assigned_ip, client_ip, requested_ip])) AS addresses
      FROM dhcp_events
      UNION ALL ${activity("dhcp_activity_1h")}
      UNION ALL ${activity("dhcp_activity_1d")}
      UNION ALL ${distinct("dhcp_unique_ips_1m")}
      UNION ALL ${distinct("dhcp_unique_ips_1h")}
    ) ORDER BY name`
  })
  return yield* Schema.decodeUnknown(Figures)(rows)
})

const equal = Effect.map(figures, (all) => {
  const [raw] = all.filter(({ name }) => name === "raw")
  for (const one of all) assert.deepStrictEqual(one, { ...raw!, name: one.name })
  return raw!.events
})

// Two years after 2105 a rollup's TTL passes the end of ClickHouse's DateTime.
const storable = dhcpEvent.filter(({ event_time }) => event_time < "2100")

const store = (batch: number, seed: number, token?: string) =>
  Effect.flatMap(ClickHouse, (clickhouse) =>
    clickhouse.insert({
      table: "dhcp_events",
      rows: fc.sample(storable, { numRuns: 150, seed }).map((event, row) => toRow(event, batch, row)),
      settings: { max_partitions_per_insert_block: "0" },
      ...(token === undefined ? {} : { deduplicationToken: token })
    }))

const migrate = Effect.flatMap(
  ClickHouse,
  (clickhouse) => Effect.forEach(createRollups, (query) => clickhouse.command({ query }), { discard: true })
)

layer(ClickHouseTest)("rollups of the events", (it) => {
  it.effect("count a batch once that is sent again with its token, as its table does", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 3; round++) yield* store(1, 11, "first")
      assert.strictEqual(yield* equal, 150)
      yield* store(2, 12, "second")
      yield* store(3, 12, "second")
      assert.strictEqual(yield* equal, 300)
    }))

  it.effect("finish in their tables what a failed view left undone, when the batch is sent again", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const before = yield* equal
      // One view refuses what the table and the other views may have taken already.
      yield* clickhouse.command({ query: "RENAME TABLE dhcp_activity_1d TO dhcp_activity_1d_away" })
      yield* Effect.flip(store(4, 13, "third"))
      yield* clickhouse.command({ query: "RENAME TABLE dhcp_activity_1d_away TO dhcp_activity_1d" })
      yield* store(5, 13, "third")
      assert.strictEqual(yield* equal, before + 150)
    }))

  it.effect("take in what was stored before them, and nothing twice when that is run again", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const before = yield* equal
      yield* clickhouse.command({ query: "DROP VIEW dhcp_rollup_feed_mv" })
      yield* store(6, 14, "unseen")
      yield* migrate
      assert.strictEqual(yield* equal, before + 150)
      yield* migrate
      assert.strictEqual(yield* equal, before + 150)
      yield* store(7, 15, "seen")
      assert.strictEqual(yield* equal, before + 300)
    }))

  it.effect("leave out of what they take in the batches that came through the views meanwhile", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const before = yield* equal
      const feed = createRollups.findIndex((query) => query.includes("VIEW dhcp_rollup_feed_mv TO"))
      assert.isAbove(feed, 0)
      yield* Effect.forEach(createRollups.slice(0, feed + 1), (query) => clickhouse.command({ query }))
      yield* store(8, 16, "meanwhile")
      yield* Effect.forEach(createRollups.slice(feed + 1), (query) => clickhouse.command({ query }))
      assert.strictEqual(yield* equal, before + 150)
    }))
})
