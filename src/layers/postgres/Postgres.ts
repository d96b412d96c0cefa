import { SqlClient } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import type { SqlError } from "@effect/sql/SqlError"
import { Config, type ConfigError, Duration, Effect, Layer, Option, Redacted } from "effect"
import { builtins, getTypeParser } from "pg-types"
import { DataDir, DataDirLive, type DataDirUnusable } from "../DataDir.ts"
import { EngineUnavailable } from "../EngineUnavailable.ts"
import { embeddedName, embeddedPostgres, sharedPostgres } from "./EmbeddedPostgres.ts"
import { codeOf } from "./sql.ts"

const connectTimeout = Duration.seconds(5)

/** An int8 as a number while a number holds it exactly, else as a bigint, which no row schema of numbers lets pass. */
export const parseInt8 = (text: string): number | bigint =>
  Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)

// `date` stays text: as a Date it would be midnight of the local time zone.
const parsers = new Map<number, (text: string) => unknown>([[builtins.INT8, parseInt8], [builtins.DATE, String]])
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" ? parsers.get(oid) : undefined) ?? getTypeParser(oid, format as "text")
}

/** A pool on one database: it connects anew after an outage, and a query during one fails within 5 seconds. */
export const postgresClient = (url: Redacted.Redacted, maxConnections: number) =>
  PgClient.layer({ url, maxConnections, connectTimeout, applicationName: "netops-api", types })

// The migration lock holds one connection, the locks of the cluster another, and at least one has to work.
const poolSize = Config.integer("NETOPS_PG_POOL").pipe(
  Config.withDefault(10),
  Config.validate({ message: "NETOPS_PG_POOL must be at least 3", validation: (size) => size >= 3 })
)

const databaseUrl = Config.option(Config.redacted("DATABASE_URL")).pipe(
  Config.map(Option.filter((url) => Redacted.value(url).trim() !== ""))
)

const verdict = (address: string) => (error: SqlError): EngineUnavailable => {
  const code = codeOf(error)
  const cause = error.cause as Error | undefined
  const reason = code.startsWith("28")
    ? "refused the login"
    : code === "3D000"
    ? "has no such database"
    : `can't be reached (${code || cause?.message || error.message})`
  return new EngineUnavailable({
    engine: "postgres",
    message: `DATABASE_URL: Postgres at ${address} ${reason}`,
    cause: error
  })
}

const addressOf = (url: Redacted.Redacted) =>
  Effect.try({
    try: () => {
      const { hostname, pathname, port, protocol } = new URL(Redacted.value(url))
      if (!/^postgres(?:ql)?:$/.test(protocol)) throw new Error("not a Postgres URL")
      return `${hostname || "localhost"}:${port || "5432"}${pathname}`
    },
    catch: () =>
      new EngineUnavailable({
        engine: "postgres",
        message: "DATABASE_URL: expected postgres://user:password@host:port/database"
      })
  })

const logVersion = (place: (version: string) => string) =>
  Layer.effectDiscard(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly server_version: string }>`SHOW server_version`
      yield* Effect.logInfo(`postgres: ${place(row?.server_version.split(" ")[0] ?? "")}`)
    })
  )

const external = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  const address = yield* addressOf(url)
  return logVersion((version) => `external ${version} at ${address}`).pipe(
    Layer.provideMerge(postgresClient(url, yield* poolSize)),
    Layer.mapError(verdict(address))
  )
})

const createDatabase = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`SELECT 1 FROM pg_database WHERE datname = ${embeddedName}`
  if (found.length === 0) yield* sql`CREATE DATABASE ${sql(embeddedName)}`
})

const embedded = Effect.fnUntraced(function*(open: typeof sharedPostgres) {
  const dataDir = yield* DataDir
  const server = yield* open(dataDir.path)
  const place = `in ${server.directory} on port ${server.port}`
  const failed = (error: SqlError) =>
    new EngineUnavailable({
      engine: "postgres",
      message: `postgres: embedded ${place}: ${error.message}`,
      cause: error
    })
  yield* createDatabase.pipe(
    Effect.provide(postgresClient(server.url("postgres"), 1)),
    Effect.mapError(failed)
  )
  return logVersion((version) => `embedded ${version} ${place}`).pipe(
    Layer.provideMerge(postgresClient(server.url(embeddedName), yield* poolSize)),
    Layer.mapError(failed)
  )
}, Effect.provide(DataDirLive))

const onConfigured = (open: typeof sharedPostgres): Layer.Layer<
  PgClient.PgClient | SqlClient.SqlClient,
  ConfigError.ConfigError | DataDirUnusable | EngineUnavailable
> =>
  Layer.unwrapScoped(
    Effect.flatMap(databaseUrl, Option.match({ onNone: () => embedded(open), onSome: external }))
  )

/**
 * The one pool of the process: on `DATABASE_URL`, or on an embedded Postgres in the data directory that stops with it.
 * Fields are snake_case everywhere, so names aren't transformed.
 */
export const PostgresLive = onConfigured((dataDir) => embeddedPostgres(dataDir))

/** The same for a short command beside the service: an embedded Postgres that runs already is used and left running. */
export const PostgresShared = onConfigured(sharedPostgres)

/** Whether Postgres answers, within 2 seconds; the failure says why not. */
export const pingPostgres: Effect.Effect<void, EngineUnavailable, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT 1`
}).pipe(
  // An interrupted query waits for its cancellation, which a dead server never answers.
  Effect.disconnect,
  Effect.timeout("2 seconds"),
  Effect.mapError((cause) => new EngineUnavailable({ engine: "postgres", message: "Postgres doesn't answer", cause }))
)
