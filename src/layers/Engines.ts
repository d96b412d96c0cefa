import { Effect, Layer } from "effect"
import { ClickHouseLive } from "./clickhouse/ClickHouseLive.ts"
import { migrateClickHouse } from "./clickhouse/migrate.ts"
import { migratePostgres, withMigrationLock } from "./postgres/migrate.ts"
import { PostgresLive } from "./postgres/Postgres.ts"

/** Brings both stores up to date, one node at a time, and gives the names of the migrations that ran. */
export const migrate = withMigrationLock(
  Effect.gen(function*() {
    const postgres = yield* migratePostgres
    const clickhouse = yield* migrateClickHouse
    if (postgres.length + clickhouse.length > 0) {
      yield* Effect.logInfo(`migrated: ${[...postgres, ...clickhouse].join(", ")}`)
    }
    return { postgres, clickhouse }
  })
)

export const MigrationsLive = Layer.effectDiscard(migrate)

/** Both stores as they are configured, without migrating them. */
export const StoresLive = Layer.merge(PostgresLive, ClickHouseLive)

/** Both stores, brought up to date before anything else uses them. */
export const EnginesLive = Layer.provideMerge(MigrationsLive, StoresLive)
