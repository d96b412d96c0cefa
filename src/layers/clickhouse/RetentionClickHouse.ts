import { Effect, Layer, Schema } from "effect"
import { prettyBytes, type RetainedTable, retainedTables, type RetentionImpact } from "../../schema/Retention.ts"
import { diskSpace } from "../../services/diskSpace.ts"
import { Retention, TableMissing } from "../../services/Retention.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { tableTtls, ttlDaysOf } from "./tableTtls.ts"

const Tables = Schema.Array(Schema.Struct({
  table_name: Schema.String,
  engine_full: Schema.String,
  size_bytes: Schema.Int,
  row_count: Schema.Int
}))
const Disk = Schema.Tuple(Schema.Struct({ total: Schema.Int, free: Schema.Int }))
const Going = Schema.Tuple(Schema.Struct({ rows: Schema.Int, bytes: Schema.Number }))

const tablesQuery = `SELECT
  name AS table_name,
  engine_full,
  toInt64(ifNull(total_bytes, 0)) AS size_bytes,
  toInt64(ifNull(total_rows, 0)) AS row_count
FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
ORDER BY name`

// Two disks may share one file system, which is then counted once.
const diskQuery = `SELECT sum(total) AS total, sum(free) AS free
FROM (
  SELECT DISTINCT total_space AS total, free_space AS free
  FROM system.disks
  WHERE total_space < toUInt64(9223372036854775807) AND name NOT LIKE '__tmp%'
)`

/** Rows past the time, and their share of the bytes: of parts as a whole where the table drops nothing else. */
const goingQuery = ({ table_name, ttl_column }: RetainedTable, byParts: boolean): string =>
  byParts
    ? `SELECT sum(rows) AS rows, sum(bytes) AS bytes
FROM (
  SELECT count() AS rows, max(${ttl_column}) AS newest, _part AS name
  FROM ${table_name}
  GROUP BY _part
) AS held
JOIN (
  SELECT name, bytes_on_disk AS bytes
  FROM system.parts
  WHERE database = currentDatabase() AND table = '${table_name}' AND active
) AS parts USING name
WHERE toDateTime(newest) + toIntervalDay({days:UInt32}) <= now()`
    : `SELECT countIf(toDateTime(${ttl_column}) + toIntervalDay({days:UInt32}) <= now()) AS rows,
  if(count() = 0, 0, rows / count() * (
    SELECT sum(bytes_on_disk)
    FROM system.parts
    WHERE database = currentDatabase() AND table = '${table_name}' AND active
  )) AS bytes
FROM ${table_name}`

/** A table's TTL isn't what it was set to. */
class TtlNotSet extends Error {
  constructor(table: string) {
    super(`the TTL of ${table} was altered, but its definition doesn't say so`)
  }
}

/**
 * Retention as the TTL of ClickHouse tables, read from their definitions. Parts that are past a new TTL are dropped as
 * a whole by a mutation in the background. A failure is a defect that holds the `ClickHouseError`.
 */
export const RetentionClickHouse = Layer.effect(
  Retention,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse

    const tables = clickhouse.query({ query: tablesQuery }).pipe(
      Effect.flatMap(({ rows }) => Schema.decodeUnknown(Tables)(rows))
    )

    const config = Effect.gen(function*() {
      const found = yield* tables
      const [disk] = yield* Effect.flatMap(
        clickhouse.query({ query: diskQuery }),
        ({ rows }) => Schema.decodeUnknown(Disk)(rows)
      )
      const sizes = ({ row_count, size_bytes, table_name }: (typeof Tables.Type)[number]) => ({
        table_name,
        size_bytes,
        size_pretty: prettyBytes(size_bytes),
        row_count
      })
      return {
        tables: retainedTables.flatMap(({ table_name, ...table }) => {
          const held = found.find((one) => one.table_name === table_name)
          const days = held === undefined ? undefined : ttlDaysOf(held.engine_full)
          return held === undefined || days === undefined
            ? []
            : [{ ...sizes(held), ...table, current_ttl_days: days }]
        }),
        non_configurable_tables: found
          .filter(({ table_name }) => !retainedTables.some((table) => table.table_name === table_name))
          .map(sizes),
        disk_space: diskSpace(disk.total, disk.free)
      }
    }).pipe(Effect.orDie, Effect.withSpan("Retention.config"))

    const plan = Effect.fnUntraced(function*(change: { readonly table_name: string; readonly ttl_days: number }) {
      const table = retainedTables.find(({ table_name }) => table_name === change.table_name)
      const held = (yield* Effect.orDie(tables)).find(({ table_name }) => table_name === change.table_name)
      if (table === undefined || held === undefined) return yield* new TableMissing({ table: change.table_name })
      const { rows } = yield* Effect.orDie(clickhouse.query({
        query: goingQuery(table, held.engine_full.includes("ttl_only_drop_parts = 1")),
        params: { days: change.ttl_days },
        timeout: "5 minutes"
      }))
      const [going] = yield* Effect.orDie(Schema.decodeUnknown(Going)(rows))
      const bytes = Math.round(going.bytes)
      const impact: RetentionImpact = {
        table_name: change.table_name,
        previous_ttl_days: ttlDaysOf(held.engine_full) ?? 0,
        ttl_days: change.ttl_days,
        rows: going.rows,
        bytes,
        pretty: prettyBytes(bytes)
      }
      return { impact, table }
    })

    const apply = Effect.fnUntraced(function*({ table_name, ttl_column }: RetainedTable, days: number) {
      yield* clickhouse.command({
        // A parameter would stand in the definition by its name; the names are our own and the number is made one.
        query: `ALTER TABLE ${table_name} MODIFY TTL toDateTime(${ttl_column}) + toIntervalDay(${Math.trunc(days)})`,
        settings: { materialize_ttl_after_modify: 1, mutations_sync: "0" }
      })
      const ttls = yield* Effect.provideService(tableTtls, ClickHouse, clickhouse)
      if (ttls.get(table_name) !== days) return yield* Effect.die(new TtlNotSet(table_name))
    }, Effect.orDie)

    return Retention.of({
      config,
      change: Effect.fn("Retention.change")(function*({ dry_run, tables }) {
        const plans = yield* Effect.forEach(tables, plan)
        if (dry_run !== true) {
          yield* Effect.forEach(plans, ({ impact, table }) => apply(table, impact.ttl_days), { discard: true })
        }
        return plans.map(({ impact }) => impact)
      })
    })
  })
)
