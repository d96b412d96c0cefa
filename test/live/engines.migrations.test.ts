import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { migrations as clickhouseMigrations } from "../../src/layers/clickhouse/migrations/index.ts"
import { migrate, StoresLive } from "../../src/layers/Engines.ts"
import { withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { migrations as postgresMigrations } from "../../src/layers/postgres/migrations/index.ts"
import { freshDatabase } from "../support/engines.ts"

const contiguous = (ids: ReadonlyArray<number>) => assert.deepStrictEqual([...ids], ids.map((_, index) => index + 1))

const node = (url: string, database: string) =>
  StoresLive.pipe(
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(
      new Map([
        ["DATABASE_URL", url],
        ["NETOPS_PG_POOL", "3"],
        ["CLICKHOUSE_URL", inject("clickhouseUrl")],
        ["NETOPS_CLICKHOUSE_DATABASE", database]
      ])
    )))
  )

describe("migrations", () => {
  it.effect("are numbered from 1 without gaps", () =>
    Effect.gen(function*() {
      contiguous((yield* postgresMigrations).map(([id]) => id))
      contiguous(Object.keys(clickhouseMigrations).map((name) => Number(/^(\d{4})_[a-z0-9_]+$/.exec(name)?.[1])))
    }))

  it.scopedLive("run once when several nodes start at once on empty stores", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 3; round++) {
        const url = yield* freshDatabase
        const database = `test_${randomBytes(6).toString("hex")}`
        const runs = yield* Effect.all(
          Array.from({ length: 4 }, () => Effect.provide(migrate, node(url, database))),
          { concurrency: "unbounded" }
        )
        const names = Object.keys(clickhouseMigrations)
        assert.deepStrictEqual(runs.flatMap((run) => run.clickhouse), names)
        yield* Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const clickhouse = yield* ClickHouse
          const [postgres] = yield* sql`SELECT count(*) AS n FROM schema_migrations`
          assert.deepStrictEqual(postgres, { n: (yield* postgresMigrations).length })
          const ledger = yield* clickhouse.query({ query: "SELECT id, name FROM schema_migrations ORDER BY id" })
          assert.deepStrictEqual(ledger.rows, names.map((name, index) => ({ id: index + 1, name })))
          assert.deepStrictEqual(yield* migrate, { postgres: [], clickhouse: [] })
          yield* clickhouse.command({ query: `DROP DATABASE ${database}` })
        }).pipe(Effect.provide(node(url, database)))
      }
    }))

  it.scopedLive("let go of the lock when they fail or are interrupted", () =>
    Effect.gen(function*() {
      const url = yield* freshDatabase
      const stores = node(url, "default")
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* Effect.flip(withMigrationLock(Effect.fail("broken"))), "broken")
        const timedOut = yield* Effect.option(Effect.timeout(withMigrationLock(Effect.never), "200 millis"))
        assert.strictEqual(timedOut._tag, "None")
        assert.strictEqual(yield* withMigrationLock(Effect.succeed("free")), "free")
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'`, [{ n: 0 }])
      }).pipe(Effect.provide(stores))
    }))
})
