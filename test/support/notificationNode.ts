import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Ref } from "effect"
import { ClusterLive, ClusterNodeLive } from "../../src/layers/cluster/Cluster.ts"
import { NotificationSingletons } from "../../src/layers/cluster/NotificationSingletons.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { LogPipelineTransportNode } from "../../src/layers/notify/LogPipelineTransportNode.ts"
import { LogPipelineChannelPg } from "../../src/layers/postgres/LogPipelineChannelPg.ts"
import { NotificationRulesPg, SilencesPg } from "../../src/layers/postgres/NotificationRulesPg.ts"
import { OutboxPg } from "../../src/layers/postgres/OutboxPg.ts"
import { PostgresLive } from "../../src/layers/postgres/Postgres.ts"
import { ServiceEventsPg } from "../../src/layers/postgres/ServiceEventsPg.ts"
import { UnitOfWorkPg } from "../../src/layers/postgres/UnitOfWorkPg.ts"
import { SecretsAesGcm } from "../../src/layers/SecretsAesGcm.ts"
import { LogPipelineLive } from "../../src/services/LogPipeline.ts"
import { DispatcherLive } from "../../src/services/notify/Dispatcher.ts"
import { SenderLive } from "../../src/services/notify/Sender.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"

/**
 * Something happens every few milliseconds, in three groups, until it is halted: a row of `facts` and its event are one
 * transaction.
 */
const happenings = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const events = yield* ServiceEvents
  const turn = yield* Ref.make(0)
  const once = Effect.gen(function*() {
    const group = (yield* Ref.getAndUpdate(turn, (count) => count + 1)) % 3
    yield* sql.withTransaction(Effect.gen(function*() {
      const [row] = yield* sql<{ readonly id: number }>`
        INSERT INTO facts (grp) SELECT ${group}::int WHERE NOT EXISTS (SELECT FROM halted) RETURNING id`
      if (row === undefined) return
      yield* events.publish([{
        type: "notification.test",
        subject: `group/${group}`,
        severity: "info",
        time: yield* DateTime.now,
        data: { message: String(row.id) }
      }])
    }))
    yield* Effect.sleep("8 millis")
  })
  yield* Effect.forkScoped(Effect.forever(once))
})

// The notifications of a node, run as a process of its own to be killed.
const node = Layer.merge(NotificationSingletons, Layer.scopedDiscard(happenings)).pipe(
  Layer.provide(Layer.provideMerge(Layer.merge(DispatcherLive, SenderLive), LogPipelineLive)),
  Layer.provide([NotificationRulesPg, SilencesPg, OutboxPg, LogPipelineChannelPg, UnitOfWorkPg, ServiceEventsPg]),
  Layer.provide([LogPipelineTransportNode, SecretsAesGcm, IdsCrypto]),
  Layer.provide(ClusterLive),
  Layer.provide([PostgresLive, ClusterNodeLive])
)

Effect.runFork(Layer.launch(node))
