import { SqlClient } from "@effect/sql"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../../src/layers/clickhouse/ClickHouseClient.ts"
import { migrateClickHouse } from "../../src/layers/clickhouse/migrate.ts"
import { migratePostgres, withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"

const freshName = () => `test_${randomBytes(6).toString("hex")}`

const maintain = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.orDie(Effect.provide(effect, postgresClient(Redacted.make(inject("postgresUrl")), 1)))

/** The URL of a new, empty Postgres database, dropped when the scope closes. */
export const freshDatabase = Effect.acquireRelease(
  Effect.gen(function*() {
    const name = freshName()
    yield* maintain(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE DATABASE ${sql(name)}`))
    const url = new URL(inject("postgresUrl"))
    url.pathname = name
    return { name, url: url.href }
  }),
  ({ name }) =>
    maintain(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`))
).pipe(Effect.map(({ url }) => url))

/** A migrated Postgres database of its own for each place that provides this layer, dropped afterwards. */
export const PostgresTest = Layer.unwrapScoped(
  Effect.map(freshDatabase, (url) =>
    Layer.effectDiscard(withMigrationLock(migratePostgres)).pipe(
      Layer.provideMerge(postgresClient(Redacted.make(url), 5))
    ))
).pipe(Layer.orDie)

/** A migrated ClickHouse database of its own for each place that provides this layer, dropped afterwards. */
export const ClickHouseTest = Layer.scoped(
  ClickHouse,
  Effect.gen(function*() {
    const client = yield* clickHouseClient(Redacted.make(inject("clickhouseUrl")), freshName(), {
      readUrl: Redacted.make(inject("clickhouseReadUrl"))
    })
    yield* Effect.provideService(migrateClickHouse, ClickHouse, client)
    yield* Effect.addFinalizer(() =>
      Effect.orDie(client.command({ query: "DROP DATABASE {name:Identifier}", params: { name: client.database } }))
    )
    return client
  })
).pipe(Layer.orDie)
