import { SqlClient } from "@effect/sql"
import { Effect, Layer, Ref, Schedule } from "effect"
import { ClusterLive, ClusterNodeLive } from "../../src/layers/cluster/Cluster.ts"
import { singleton } from "../../src/layers/cluster/singleton.ts"
import { PostgresLive } from "../../src/layers/postgres/Postgres.ts"

// A node in small, run as a process of its own: its singleton writes down that it is at work, and dies once.
const program = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const died = yield* Ref.make(false)
  const tick = sql`INSERT INTO ticks (node) VALUES (${process.pid})`
  const work = Effect.gen(function*() {
    yield* Effect.repeat(tick, Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurs(5)))
    if (!(yield* Ref.getAndSet(died, true))) return yield* Effect.die("the singleton died")
    yield* Effect.repeat(tick, Schedule.spaced("100 millis"))
  })
  return yield* Layer.launch(singleton("probe", work))
}).pipe(
  Effect.provide(ClusterLive),
  Effect.provide(Layer.merge(PostgresLive, ClusterNodeLive))
)

Effect.runFork(program)
