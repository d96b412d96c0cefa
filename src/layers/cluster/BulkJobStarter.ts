import { ClusterSchema, EntityAddress, EntityId, EntityType, MessageStorage, Sharding } from "@effect/cluster"
import { Context, DateTime, Effect, Queue, Schedule, Stream } from "effect"
import type { JobId } from "../../schema/BulkJob.ts"
import { BulkJobs } from "../../services/BulkJobs.ts"
import { BulkJobRun } from "./BulkJobRun.ts"
import { singleton } from "./singleton.ts"

/** When a due job is started at the latest, since a notification may have got lost, and a suspended one resumed. */
const tick = Schedule.spaced("1 second")

/** Where the messages of a run are kept. */
const addressOf = Effect.fnUntraced(function*(execution: string) {
  const sharding = yield* Sharding.Sharding
  const entityId = EntityId.make(execution)
  const shardGroup = Context.get(BulkJobRun.annotations, ClusterSchema.ShardGroup)(entityId)
  return new EntityAddress.EntityAddress({
    entityType: EntityType.EntityType.make(`Workflow/${BulkJobRun.name}`),
    entityId,
    shardId: sharding.getShardId(entityId, shardGroup)
  })
})

/**
 * Sees to it that every job whose time has come has its run, on whichever node, that a suspended run goes on, and that
 * nothing is kept of a run whose job has ended.
 */
const startJobs = Effect.gen(function*() {
  const jobs = yield* BulkJobs
  const storage = yield* MessageStorage.MessageStorage
  const signals = yield* Queue.sliding<void>(1)
  const runs = new Map<JobId, string>()
  yield* jobs.changes.pipe(
    Stream.runForEach(() => Queue.offer(signals, undefined)),
    Effect.catchAllCause((cause) => Effect.logWarning("new bulk jobs can't be followed", cause)),
    Effect.repeat(tick),
    Effect.forkScoped
  )
  yield* Effect.forkScoped(Effect.repeat(Queue.offer(signals, undefined), tick))

  const forget = Effect.fnUntraced(function*(id: JobId, execution: string) {
    const result = yield* BulkJobRun.poll(execution)
    if (result?._tag !== "Complete") return yield* BulkJobRun.resume(execution)
    yield* storage.clearAddress(yield* addressOf(execution))
    runs.delete(id)
  })

  return yield* Effect.forever(Effect.gen(function*() {
    yield* Queue.take(signals)
    const running = yield* jobs.running(yield* DateTime.now)
    for (const id of running) {
      const known = runs.get(id)
      if (known !== undefined) yield* BulkJobRun.resume(known)
      else runs.set(id, yield* BulkJobRun.execute({ id }, { discard: true }))
    }
    for (const [id, execution] of runs) if (!running.includes(id)) yield* forget(id, execution)
  }))
})

export const BulkJobStarter = singleton("bulk-jobs", startJobs)
