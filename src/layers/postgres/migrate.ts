import { Migrator, SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { migrations } from "./migrations/index.ts"

// Any constant serves, as long as all nodes of an installation use the same: the bytes of "netops".
const lockKey = 0x6e65746f7073

/**
 * Runs one effect at a time among all nodes on the same database, others waiting: under a session advisory lock on a
 * connection of its own, so that what runs inside may use transactions on the pool (of two connections or more).
 */
export const withMigrationLock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const connection = yield* sql.reserve
      yield* Effect.acquireReleaseInterruptible(
        connection.executeUnprepared("SELECT pg_advisory_lock($1)", [lockKey], undefined),
        // A connection that broke has released the lock with its session.
        () => Effect.ignore(connection.executeUnprepared("SELECT pg_advisory_unlock($1)", [lockKey], undefined))
      )
      return yield* effect
    })
  )

/** Brings the schema up to date and gives the migrations that ran; call it under the migration lock. */
export const migratePostgres = Migrator.make({})({ loader: migrations, table: "schema_migrations" }).pipe(
  Effect.map((ran) => ran.map(([id, name]) => `${String(id).padStart(4, "0")}_${name}`))
)
