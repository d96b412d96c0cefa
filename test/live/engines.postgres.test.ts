import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Deferred, Duration, Effect, Exit, Layer, Redacted, Schedule } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { ClickHouseLive } from "../../src/layers/clickhouse/ClickHouseLive.ts"
import { embeddedPostgres } from "../../src/layers/postgres/EmbeddedPostgres.ts"
import { pingPostgres, postgresClient, PostgresLive } from "../../src/layers/postgres/Postgres.ts"
import { isPostgresOutage, onUniqueViolation } from "../../src/layers/postgres/sql.ts"
import { PostgresTest } from "../support/engines.ts"
import { pgCtl, startPostgres } from "../support/pgCtl.ts"

const configured = <A, E>(layer: Layer.Layer<A, E>, variables: Readonly<Record<string, string>>) =>
  Layer.provide(layer, Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))))

const startError = <A, E>(layer: Layer.Layer<A, E>) => Effect.flip(Effect.scoped(Layer.build(layer)))

const silent = Effect.acquireRelease(
  Effect.async<ReturnType<typeof createServer>>((resume) => {
    const server = createServer(() => {}).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
).pipe(Effect.map((server) => (server.address() as { readonly port: number }).port))

describe("a Postgres that is named", () => {
  it.effect("gives int8 as numbers while they are exact, dates as text and instants as Date", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT 9007199254740991 AS safe, 9007199254740993 AS unsafe, -1::int8 AS negative,
        date '2026-11-21' AS day, timestamptz '2026-11-21T01:02:03.004+02' AS at,
        current_setting('application_name') AS application_name`
      assert.deepStrictEqual(rows, [{
        safe: 9007199254740991,
        unsafe: 9007199254740993n,
        negative: -1,
        day: "2026-11-21",
        at: new Date("2026-11-20T23:02:03.004Z"),
        application_name: "netops-api"
      }])
    }).pipe(Effect.provide(PostgresTest)))

  it.effect("tells a unique violation from other failures", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE once (id int PRIMARY KEY)`
      yield* sql`INSERT INTO once VALUES (1)`
      const taken = sql`INSERT INTO once VALUES (1)`.pipe(onUniqueViolation(() => "taken" as const))
      assert.strictEqual(yield* Effect.flip(taken), "taken")
      const broken = yield* Effect.exit(sql`INSERT INTO nowhere VALUES (1)`.pipe(onUniqueViolation(() => "taken")))
      assert.isTrue(Exit.isFailure(broken) && broken.cause._tag === "Die")
    }).pipe(Effect.provide(PostgresTest)))

  it.scopedLive("stops the start with one line that says what is wrong and no secret", () =>
    Effect.gen(function*() {
      const good = new URL(inject("postgresUrl"))
      const wrong = new URL(good)
      wrong.password = "hunter2"
      const missing = new URL(good)
      missing.pathname = "/nowhere"
      const port = yield* silent
      const cases = [
        [wrong.href, /^DATABASE_URL: Postgres at 127\.0\.0\.1:\d+\/postgres refused the login$/],
        [missing.href, /^DATABASE_URL: Postgres at 127\.0\.0\.1:\d+\/nowhere has no such database$/],
        [
          "postgres://u:hunter2@127.0.0.1:1/x",
          /^DATABASE_URL: .* 127\.0\.0\.1:1\/x can't be reached \(ECONNREFUSED\)$/
        ],
        [`postgres://u:hunter2@127.0.0.1:${port}/x`, /can't be reached \(.*time.*\)$/i],
        ["hunter2", /^DATABASE_URL: expected postgres:/]
      ] as const
      for (const [url, expected] of cases) {
        const [took, error] = yield* Effect.timed(startError(configured(PostgresLive, { DATABASE_URL: url })))
        assert.strictEqual(error._tag, "EngineUnavailable")
        assert.match(String((error as Error).message), expected)
        assert.notInclude(String((error as Error).message), "hunter2")
        assert.isBelow(Duration.toSeconds(took), 7)
      }
    }))
})

describe("a ClickHouse that is named", () => {
  it.scopedLive("stops the start with one line that says what is wrong and no secret", () =>
    Effect.gen(function*() {
      const wrong = new URL(inject("clickhouseUrl"))
      wrong.password = "hunter2"
      const port = yield* silent
      const cases = [
        [wrong.href, /^CLICKHOUSE_URL: ClickHouse at http:\/\/127\.0\.0\.1:\d+ refused the login$/],
        [
          "http://u:hunter2@127.0.0.1:1",
          /^CLICKHOUSE_URL: .* http:\/\/127\.0\.0\.1:1 can't be reached \(ECONNREFUSED\)$/
        ],
        [`http://u:hunter2@127.0.0.1:${port}`, /can't be reached \(no answer within 2 seconds\)$/],
        ["tcp://u:hunter2@127.0.0.1:9000", /^CLICKHOUSE_URL: expected http/]
      ] as const
      for (const [url, expected] of cases) {
        const error = yield* startError(configured(ClickHouseLive, { CLICKHOUSE_URL: url }))
        assert.strictEqual(error._tag, "EngineUnavailable")
        assert.match(String((error as Error).message), expected)
        assert.notInclude(String((error as Error).message), "hunter2")
      }
    }))
})

describe("the pool", () => {
  it.scopedLive("fails fast while Postgres is away and goes on when it is back", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "netops-restart-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      const server = yield* embeddedPostgres(directory)
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.all(Array.from({ length: 5 }, () => sql`SELECT pg_sleep(0.05)`), { concurrency: "unbounded" })
        const cut = yield* Effect.fork(Effect.flip(sql`SELECT pg_sleep(30)`))
        const away = yield* Deferred.make<void>()
        const half = sql`SELECT 1`.pipe(Effect.zipRight(Deferred.await(away)), Effect.zipRight(sql`SELECT 2`))
        const halfDone = yield* Effect.fork(Effect.flip(Effect.sandbox(sql.withTransaction(half))))
        yield* Effect.sleep("100 millis")
        yield* pgCtl(directory, "stop", "-m", "fast")
        assert.isTrue(isPostgresOutage(yield* cut))
        yield* Deferred.succeed(away, undefined)
        const failures = [...Cause.failures(yield* halfDone), ...Cause.defects(yield* halfDone)]
        assert.isNotEmpty(failures)
        for (const each of failures) assert.isTrue(isPostgresOutage(each), String(each))
        const [took, error] = yield* Effect.timed(Effect.flip(sql`SELECT 1`))
        assert.isTrue(isPostgresOutage(error))
        assert.isBelow(Duration.toSeconds(took), 5)
        assert.strictEqual((yield* Effect.flip(pingPostgres))._tag, "EngineUnavailable")
        yield* startPostgres(directory, server.port)
        yield* Effect.retry(pingPostgres, Schedule.recurs(2))
        yield* Effect.all(Array.from({ length: 10 }, () => sql`SELECT 1`), { concurrency: "unbounded" })
      }).pipe(Effect.provide(postgresClient(Redacted.make(Redacted.value(server.url("postgres"))), 5)))
    }))
})
