import { SqlClient } from "@effect/sql"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Client, makeFetchClient, tokenByPassword } from "../src/api/client.ts"
import { embeddedClickHouse } from "../src/layers/clickhouse/EmbeddedClickHouse.ts"
import { embeddedPostgres } from "../src/layers/postgres/EmbeddedPostgres.ts"
import { postgresClient } from "../src/layers/postgres/Postgres.ts"
import { ServerLive } from "../src/main.ts"

/** The whole service on embedded engines of its own, and ways to reach it and its ClickHouse. */
export interface Service {
  readonly url: string
  readonly directory: string
  readonly token: string
  readonly client: Client
  /** URL of ClickHouse with the login in it; the database is `netops`. */
  readonly clickHouseUrl: string
  /** URL of a database on its Postgres, `postgres` is that of the service. */
  readonly postgresUrl: (database: string) => Redacted.Redacted
}

const password = "bench-password-0"

const freePort = Effect.promise(() =>
  new Promise<number>((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
)

/** Starts the service in a directory that goes when the scope closes. */
export const startService = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "netops-bench-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const postgres = yield* embeddedPostgres(directory)
  const clickhouse = yield* embeddedClickHouse(directory)
  const port = yield* freePort
  const settings = new Map([
    ["PORT", String(port)],
    ["NETOPS_DATA_DIR", directory],
    ["NETOPS_ADMIN_PASSWORD", password],
    ["NETOPS_LOG_LEVEL", "WARN"],
    ["NETOPS_REQUESTS_PER_MINUTE", "1000000000"],
    ["NETOPS_SESSION_EXPIRES_IN", "12 hours"],
    ["NETOPS_SESSION_IDLE", "12 hours"],
    ["NETOPS_STREAMS_PER_USER", "1000"],
    ["NETOPS_BLOCKS_PER_HOUR", "1000000000"],
    ["DATABASE_URL", Redacted.value(postgres.url("postgres"))],
    ["CLICKHOUSE_URL", Redacted.value(clickhouse.url)],
    ["PATH", process.env["PATH"] ?? ""]
  ])
  yield* Layer.build(Layer.provide(ServerLive, Layer.setConfigProvider(ConfigProvider.fromMap(settings))))
  const url = `http://127.0.0.1:${port}`
  const anonymous = yield* makeFetchClient({ baseUrl: url })
  const token = yield* tokenByPassword(anonymous, { username: "admin", password })
  const client = yield* makeFetchClient({ baseUrl: url, token })
  return {
    url,
    token: Redacted.value(token),
    client,
    clickHouseUrl: Redacted.value(clickhouse.url),
    postgresUrl: postgres.url,
    directory
  } satisfies Service
})

/** An empty database beside that of the service. */
export const createDatabase = (service: Service, name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE DATABASE ${sql(name)}`).pipe(
    Effect.provide(postgresClient(service.postgresUrl("postgres"), 1))
  )
