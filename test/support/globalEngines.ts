import { ConfigProvider, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { embeddedClickHouse } from "../../src/layers/clickhouse/EmbeddedClickHouse.ts"
import { embeddedPostgres } from "../../src/layers/postgres/EmbeddedPostgres.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** Opens the maintenance database `postgres` as superuser. */
    readonly postgresUrl: string
    /** Opens the embedded ClickHouse, login included. */
    readonly clickhouseUrl: string
    /** Opens it for a login that can only read. */
    readonly clickhouseReadUrl: string
  }
}

/** One Postgres and one ClickHouse for the whole run, in a directory that is removed after it. */
export default async function globalEngines(project: TestProject) {
  const directory = await mkdtemp(join(tmpdir(), "netops-test-"))
  const scope = Effect.runSync(Scope.make())
  const engines = Effect.all({
    // What a crash of the machine would lose is of no interest here.
    postgres: embeddedPostgres(directory, { fsync: "off", synchronous_commit: "off", max_connections: "200" }),
    clickhouse: embeddedClickHouse(directory)
  }, { concurrency: "unbounded" })
  const { clickhouse, postgres } = await Effect.runPromise(
    engines.pipe(
      Scope.extend(scope),
      Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map())))
    )
  )
  project.provide("postgresUrl", Redacted.value(postgres.url("postgres")))
  project.provide("clickhouseUrl", Redacted.value(clickhouse.url))
  project.provide("clickhouseReadUrl", Redacted.value(clickhouse.readUrl))
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(directory, { recursive: true, force: true })
  }
}
