import { Cause, DateTime, Effect, Queue, Schedule, Stream } from "effect"
import type { JobId } from "../schema/BulkJob.ts"
import { BulkJobs } from "../services/BulkJobs.ts"
import { singleton } from "./cluster/singleton.ts"

/** Clients of one step: some tens of milliseconds, for which a cancel waits at most. */
const stepClients = 500

/** When a scheduled job is looked for at the latest, and a notification may have got lost. */
const tick = Schedule.spaced("1 second")

const attempts = Schedule.exponential("200 millis").pipe(Schedule.intersect(Schedule.recurs(4)))

/** Works off the running jobs, a step of each in turn; what a node leaves behind the next one goes on with. */
export const bulkWorker = Effect.gen(function*() {
  const jobs = yield* BulkJobs
  const signals = yield* Queue.sliding<void>(1)
  yield* jobs.changes.pipe(
    Stream.runForEach(() => Queue.offer(signals, undefined)),
    Effect.catchAllCause((cause) => Effect.logWarning("new bulk jobs can't be followed", cause)),
    Effect.repeat(tick),
    Effect.forkScoped
  )
  yield* Effect.forkScoped(Effect.repeat(Queue.offer(signals, undefined), tick))

  const step = (id: JobId) =>
    Effect.flatMap(DateTime.now, (at) => jobs.step(id, at, stepClients)).pipe(
      Effect.sandbox,
      Effect.retry({ schedule: attempts, while: (cause) => !Cause.isInterrupted(cause) }),
      Effect.unsandbox,
      Effect.catchAllDefect((defect) =>
        Effect.logError(`bulk job ${id} can't go on`, defect).pipe(
          Effect.zipRight(DateTime.now),
          Effect.flatMap((at) => jobs.fail(id, at, "An internal failure stopped the job")),
          Effect.as(false)
        )
      )
    )
  const round: Effect.Effect<void> = Effect.gen(function*() {
    const running = yield* jobs.running(yield* DateTime.now)
    for (const id of running) yield* step(id)
    if (running.length > 0) yield* round
  })
  return yield* Effect.forever(Effect.zipRight(Queue.take(signals), round))
})

export const BulkWorker = singleton("bulk-jobs", bulkWorker)
