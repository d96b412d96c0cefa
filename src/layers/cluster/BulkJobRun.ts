import { Activity, Workflow } from "@effect/workflow"
import { Cause, DateTime, Effect, Schedule, Schema } from "effect"
import { JobId } from "../../schema/BulkJob.ts"
import { BulkJobs } from "../../services/BulkJobs.ts"
import { isPostgresOutage } from "../postgres/sql.ts"

/** Clients of one chunk: some tens of milliseconds of work, after which at most a cancelled job stands still. */
const chunkClients = 1000

/** Chunks of one activity: what the engine keeps of each takes about as long as a chunk does. */
const chunksOfActivity = 10

/**
 * The durable run of a bulk job, one execution for each job. Where the job stands is in its row alone, and a chunk moves
 * that in the transaction in which it acts: a chunk that is replayed, or run by two nodes at once, acts once. A failure
 * suspends the run, which goes on from the row when it is resumed.
 */
export const BulkJobRun = Workflow.make({
  name: "BulkJob",
  payload: { id: JobId },
  idempotencyKey: ({ id }) => id
}).annotate(Workflow.SuspendOnFailure, true)

const isOutage = (cause: Cause.Cause<unknown>) => Cause.isDie(cause) && isPostgresOutage(Cause.squash(cause))

const fewTimes = Schedule.exponential("200 millis").pipe(Schedule.intersect(Schedule.recurs(4)))

const chunk = (id: JobId) =>
  Effect.gen(function*() {
    const jobs = yield* BulkJobs
    return yield* Effect.flatMap(DateTime.now, (at) => jobs.step(id, at, chunkClients)).pipe(
      Effect.sandbox,
      Effect.retry({ schedule: Schedule.spaced("1 second"), while: isOutage }),
      Effect.retry({ schedule: fewTimes, while: (cause) => !Cause.isInterrupted(cause) }),
      Effect.catchAll((cause) =>
        Cause.isInterrupted(cause)
          ? Effect.failCause(cause)
          : Effect.logError(`bulk job ${id} can't go on`, cause).pipe(
            Effect.zipRight(DateTime.now),
            Effect.flatMap((at) => jobs.fail(id, at, "An internal failure stopped the job")),
            Effect.as(null)
          )
      )
    )
  })

/** Some chunks as an activity: the position from which the next goes on, or null when the job has ended. */
const chunks = (id: JobId, from: number) =>
  Activity.make({
    name: `clients from ${from}`,
    success: Schema.NullOr(Schema.Int),
    execute: Effect.gen(function*() {
      let next: number | null = from
      for (let done = 0; done < chunksOfActivity && next !== null; done++) next = yield* chunk(id)
      return next
    })
  })

export const BulkJobRunLive = BulkJobRun.toLayer(
  Effect.fnUntraced(function*({ id }) {
    const { processed, total } = yield* Effect.orDie(Effect.flatMap(BulkJobs, (jobs) => jobs.get(id)))
    yield* Effect.logInfo(`bulk job ${id} runs here from client ${processed} of ${total}`)
    let from: number | null = processed
    while (from !== null) from = yield* chunks(id, from)
  })
)
