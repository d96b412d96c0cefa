import { Effect, Schema } from "effect"
import { ClickHouse } from "./ClickHouse.ts"

const Rows = Schema.Array(Schema.Struct({ name: Schema.String, engine_full: Schema.String }))

/** Days of the TTL that a table's definition states, `undefined` where it has none in days. */
export const ttlDaysOf = (engineFull: string): number | undefined => {
  const days = / TTL .*?\btoIntervalDay\((\d+)\)/.exec(engineFull)?.[1]
  return days === undefined ? undefined : Number(days)
}

/** The TTL in days of every table that has one, as its definition states it: rows tell nothing about it. */
export const tableTtls = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  const { rows } = yield* clickhouse.query({
    query: `SELECT name, engine_full
FROM system.tables
WHERE database = currentDatabase() AND engine_full LIKE '% TTL %'`
  })
  const tables = yield* Effect.orDie(Schema.decodeUnknown(Rows)(rows))
  return new Map(tables.flatMap(({ engine_full, name }) => {
    const days = ttlDaysOf(engine_full)
    return days === undefined ? [] : [[name, days] as const]
  }))
})
