import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { startChild } from "../support/childProcess.ts"
import { freshDatabase } from "../support/engines.ts"

interface Tick {
  readonly node: number
  readonly at: Date
}

const ticksSince = (since: Date) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql<Tick>`SELECT node, at FROM ticks WHERE at > ${since} ORDER BY at`)

const databaseNow = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => Effect.map(sql<{ readonly now: Date }>`SELECT now()`, ([row]) => row!.now)
)

const soon = Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(600))

/** Waits for a tick after this time, of any node but the excluded one. */
const tickAfter = (since: Date, except = 0) =>
  Effect.flatMap(ticksSince(since), (ticks) => Effect.fromNullable(ticks.find(({ node }) => node !== except))).pipe(
    Effect.retry(soon)
  )

const onFreshDatabase = <A, E, R>(use: (url: string) => Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
  Effect.flatMap(freshDatabase, (url) => {
    const prepared = Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => Effect.zipRight(sql`CREATE TABLE ticks (node int, at timestamptz DEFAULT clock_timestamp())`, use(url))
    )
    return Effect.provide(prepared, postgresClient(Redacted.make(url), 2))
  })

const takeoverSecondsMax = 11

/** A frozen node costs another ten seconds to wait for, so that is left to `npm run chaos`. */
const signals = process.env["NETOPS_CHAOS"] === undefined ? ["SIGKILL"] as const : ["SIGKILL", "SIGSTOP"] as const

describe("cluster", () => {
  it.scopedLive(
    "one of three nodes runs a singleton, another goes on when it is killed or frozen",
    () =>
      onFreshDatabase((url) =>
        Effect.gen(function*() {
          const env = { DATABASE_URL: url, NETOPS_CLUSTER: "1" }
          const nodes = yield* Effect.all(
            Array.from({ length: 3 }, () => startChild("clusterNode.ts", env)),
            { concurrency: "unbounded" }
          )
          let { node } = yield* tickAfter(new Date(0))
          for (const signal of signals) {
            yield* Effect.sleep("2 seconds")
            const since = yield* databaseNow
            yield* Effect.sleep("1 second")
            const atWork = new Set((yield* ticksSince(since)).map((tick) => tick.node))
            assert.strictEqual(atWork.size, 1, nodes.map((child) => child.output()).join("\n"))
            node = [...atWork][0]!
            const stoppedAt = yield* databaseNow
            process.kill(node, signal)
            const successor = yield* tickAfter(stoppedAt, node)
            const seconds = (successor.at.getTime() - stoppedAt.getTime()) / 1000
            yield* Effect.logInfo(`taken over ${seconds} s after ${signal}`)
            assert.isAtMost(seconds, takeoverSecondsMax)
          }
        })
      ),
    90_000
  )

  it.scopedLive("a node alone goes on after a failure, and at once after a restart", () =>
    onFreshDatabase((url) =>
      Effect.gen(function*() {
        const env = { DATABASE_URL: url, PORT: "8765" }
        const first = yield* startChild("clusterNode.ts", env)
        const failed = Effect.sync(() => first.output().includes("probe failed and starts anew"))
        yield* Effect.retry(Effect.filterOrFail(failed, (failed) => failed), soon)
        yield* tickAfter(yield* databaseNow)
        yield* first.kill("SIGKILL")
        const restartedAt = yield* databaseNow
        yield* startChild("clusterNode.ts", env)
        const { at } = yield* tickAfter(restartedAt)
        assert.isAtMost(at.getTime() - restartedAt.getTime(), 6000)
      })
    ))
})
