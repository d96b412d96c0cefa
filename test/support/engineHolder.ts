import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { EnginesLive } from "../../src/layers/Engines.ts"

// A server in small, run as a process of its own: it writes to both stores, says so and waits to be killed.
const program = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const clickhouse = yield* ClickHouse
  yield* sql`CREATE TABLE kept (id int PRIMARY KEY)`
  yield* sql`INSERT INTO kept VALUES (1)`
  yield* clickhouse.command({ query: "CREATE TABLE kept (id UInt32) ENGINE = MergeTree ORDER BY id" })
  yield* clickhouse.insert({ table: "kept", rows: [{ id: 1 }] })
  yield* Effect.sync(() => process.stdout.write("holding\n"))
  return yield* Effect.never
})

Effect.runFork(Effect.provide(program, Layer.orDie(EnginesLive)))
