import { Effect, Schema } from "effect"
import { ClickHouse } from "./ClickHouse.ts"
import { migrations } from "./migrations/index.ts"

const Latest = Schema.Tuple(Schema.Struct({ id: Schema.Number }))

const numbered = Object.entries(migrations)
  .map(([name, statements]) => ({ id: Number.parseInt(name, 10), name, statements }))
  .sort((a, b) => a.id - b.id)

/** Creates the database, brings its tables up to date and gives what ran; call it under the migration lock. */
export const migrateClickHouse = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  yield* clickhouse.createDatabase
  yield* clickhouse.command({
    query: `CREATE TABLE IF NOT EXISTS schema_migrations (
      id UInt32, name String, applied_at DateTime('UTC') DEFAULT now()
    ) ENGINE = MergeTree ORDER BY id`
  })
  const { rows } = yield* clickhouse.query({ query: "SELECT max(id) AS id FROM schema_migrations" })
  const [{ id: latest }] = yield* Effect.orDie(Schema.decodeUnknown(Latest)(rows))
  const missing = numbered.filter(({ id }) => id > latest)
  for (const { id, name, statements } of missing) {
    for (const query of statements) yield* clickhouse.command({ query, timeout: "10 minutes" })
    yield* clickhouse.insert({ table: "schema_migrations", rows: [{ id, name }] })
  }
  return missing.map(({ name }) => name)
})
