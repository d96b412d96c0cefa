import { ConfigProvider, Effect, Exit, Layer, Scope } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { ServerLive } from "../../src/main.ts"

export const adminPassword = "node-password-0"

export const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A directory that goes when the scope closes. */
export const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-node-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** What nodes on the same stores have in common. */
export interface Stores {
  readonly databaseUrl: string
  /** Name of the ClickHouse database. */
  readonly database: string
}

/** The environment of one node among several on the same stores. */
export const nodeEnvironment = Effect.fnUntraced(function*(
  { database, databaseUrl }: Stores,
  more: Readonly<Record<string, string>>
) {
  const directory = yield* temporaryDirectory
  return {
    PORT: String(yield* freePort),
    NETOPS_DATA_DIR: directory,
    DATABASE_URL: databaseUrl,
    CLICKHOUSE_URL: inject("clickhouseUrl"),
    NETOPS_CLICKHOUSE_DATABASE: database,
    NETOPS_ADMIN_PASSWORD: adminPassword,
    NETOPS_CLUSTER: "1",
    NETOPS_LOG_LEVEL: "ERROR",
    NETOPS_PG_POOL: "5",
    NETOPS_SHUTDOWN_GRACE: "2 seconds",
    PATH: process.env["PATH"] ?? "",
    ...more
  }
})

/** The whole service in this process, on a port of its own, until it is stopped or the scope closes. */
export const startNode = Effect.fnUntraced(function*(stores: Stores, more: Readonly<Record<string, string>> = {}) {
  const environment = yield* nodeEnvironment(stores, more)
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const config = ConfigProvider.fromMap(new Map(Object.entries(environment)))
  yield* Layer.buildWithScope(Layer.fresh(Layer.provide(ServerLive, Layer.setConfigProvider(config))), scope)
  return { url: `http://127.0.0.1:${environment.PORT}`, stop: Scope.close(scope, Exit.void) }
}, Effect.orDie)
