import { Effect, Schema } from "effect"
import { ClickHouse } from "./ClickHouse.ts"
import { onCluster } from "./clusterDdl.ts"
import { migrations } from "./migrations/index.ts"

const Latest = Schema.Tuple(Schema.Struct({ id: Schema.Number }))

const numbered = Object.entries(migrations)
  .map(([name, statements]) => ({ id: Number.parseInt(name, 10), name, statements }))
  .sort((a, b) => a.id - b.id)

/** The table that tells which migrations have run. */
export const bookkeeping = `CREATE TABLE IF NOT EXISTS schema_migrations (
  id UInt32, name String, applied_at DateTime('UTC') DEFAULT now()
) ENGINE = MergeTree ORDER BY id`

/** Creates the database, brings its tables up to date and gives what ran; call it under the migration lock. */
export const migrateClickHouse = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  const { cluster } = clickhouse
  const run = (query: string) => clickhouse.command({ query: onCluster(cluster)(query), timeout: "10 minutes" })
  yield* clickhouse.createDatabase
  yield* run(bookkeeping)
  // What another server has recorded may not have come here yet.
  if (cluster !== undefined) yield* run("SYSTEM SYNC REPLICA schema_migrations")
  const { rows } = yield* clickhouse.query({ query: "SELECT max(id) AS id FROM schema_migrations" })
  const [{ id: latest }] = yield* Effect.orDie(Schema.decodeUnknown(Latest)(rows))
  const missing = numbered.filter(({ id }) => id > latest)
  for (const { id, name, statements } of missing) {
    for (const query of statements) yield* run(query)
    yield* clickhouse.insert({ table: "schema_migrations", rows: [{ id, name }] })
  }
  return missing.map(({ name }) => name)
})
