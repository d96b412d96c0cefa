import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Schema } from "effect"
import { Nft } from "../services/Nft.ts"
import { Readiness, type Verdict } from "../services/Readiness.ts"
import { ClickHouse } from "./clickhouse/ClickHouse.ts"
import { migrations as clickHouseMigrations } from "./clickhouse/migrations/index.ts"
import { migrations as postgresMigrations } from "./postgres/migrations/index.ts"
import { pingPostgres } from "./postgres/Postgres.ts"

const verdict = <E extends { readonly message: string }, R>(
  effect: Effect.Effect<string, E, R>,
  required: boolean
): Effect.Effect<Verdict, never, R> =>
  effect.pipe(
    Effect.map((detail): Verdict => ({ ok: true, detail, required })),
    Effect.catchAll((error) => Effect.succeed<Verdict>({ ok: false, detail: error.message, required }))
  )

const Latest = Schema.Struct({ id: Schema.NullOr(Schema.Number) })

/** A store that an older build has migrated lacks what this one needs, so the latest recorded ids are asked for. */
const migrated = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const clickhouse = yield* ClickHouse
  const latest = SqlSchema.single({
    Request: Schema.Void,
    Result: Latest,
    execute: () => sql`SELECT max(migration_id)::int AS id FROM schema_migrations`
  })
  const { rows } = yield* clickhouse.query({
    query: "SELECT max(id) AS id FROM schema_migrations",
    timeout: "2 seconds"
  })
  const events = yield* Schema.decodeUnknown(Schema.Tuple(Latest))(rows)
  const records = yield* latest(undefined)
  const wanted = {
    postgres: (yield* postgresMigrations).length,
    clickhouse: Object.keys(clickHouseMigrations).length
  }
  const found = { postgres: records.id ?? 0, clickhouse: events[0].id ?? 0 }
  return found.postgres >= wanted.postgres && found.clickhouse >= wanted.clickhouse
    ? "up to date"
    : yield* Effect.fail({ message: "this build needs newer migrations: run netops migrate" })
}).pipe(
  Effect.disconnect,
  Effect.timeout("3 seconds"),
  Effect.mapError((error) => ({ message: "message" in error ? error.message : "The migrations could not be read" }))
)

export const ReadinessLive = Layer.effect(
  Readiness,
  Effect.gen(function*() {
    const nft = yield* Nft
    const clickhouse = yield* ClickHouse
    const context = yield* Effect.context<SqlClient.SqlClient | ClickHouse>()
    return Readiness.of({
      check: Effect.all({
        postgres: verdict(Effect.as(pingPostgres, "answers"), true),
        clickhouse: verdict(Effect.as(clickhouse.ping, "answers"), true),
        nft: verdict(Effect.as(nft.probe, `${nft.target.kind} answers`), nft.target.kind !== "sandbox"),
        migrations: verdict(migrated, true)
      }, { concurrency: "unbounded" }).pipe(Effect.provide(context))
    })
  })
)
