import { Context, Data, type DateTime, type Effect, type Stream } from "effect"
import type { ClientIdentity } from "../schema/ActionRequest.ts"
import type { BulkItem, BulkJob, JobId, JobStatus } from "../schema/BulkJob.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"

export class JobMissing extends Data.TaggedError("BulkJobs/JobMissing")<{ readonly id: string }> {}

/** The job is in a state in which that can't be done with it. */
export class JobStateRefused extends Data.TaggedError("BulkJobs/JobStateRefused")<{ readonly status: JobStatus }> {}

export type NewBulkJob = Pick<
  BulkJob,
  | "id"
  | "action"
  | "criteria"
  | "criteria_hash"
  | "reason"
  | "created_by"
  | "request_id"
  | "scheduled_at"
  | "created_at"
>

/** What an undo is asked for with. */
export type NewUndo = Pick<BulkJob, "id" | "created_by" | "request_id" | "created_at" | "reason">

/** State of a job after a step. */
export const stateAfter = (job: Pick<BulkJob, "total" | "processed" | "failed">, refused: number): JobStatus =>
  job.processed < job.total
    ? "running"
    : job.total > 0 && job.failed === job.total
    ? "failed"
    : job.failed + refused > 0
    ? "partial"
    : "completed"

/**
 * Bulk jobs and what they do. A step acts in the transaction that moves the job on, which only succeeds while the job
 * runs and nobody else has moved it: once a cancel is answered nothing of the job happens any more, no client is dealt
 * with twice, and a job comes into exactly one final state.
 */
export class BulkJobs extends Context.Tag("services/BulkJobs")<
  BulkJobs,
  {
    readonly create: (job: NewBulkJob, clients: ReadonlyArray<ClientIdentity>) => Effect.Effect<BulkJob>
    readonly get: (id: JobId) => Effect.Effect<BulkJob, JobMissing>
    /** Newest first. */
    readonly list: (
      query: PageRequest & { readonly status?: JobStatus | undefined }
    ) => Effect.Effect<Page<BulkJob>, InvalidCursor>
    /** In the order in which they are worked off. */
    readonly items: (id: JobId, page: PageRequest) => Effect.Effect<Page<BulkItem>, JobMissing | InvalidCursor>
    readonly cancel: (id: JobId, at: DateTime.Utc) => Effect.Effect<BulkJob, JobMissing | JobStateRefused>
    /** Cancels every job that is scheduled or running, and gives their number. */
    readonly cancelAll: (at: DateTime.Utc) => Effect.Effect<number>
    /** Makes a job that restores what an ended one changed, as far as nobody changed it since; one for each at most. */
    readonly undo: (id: JobId, undo: NewUndo) => Effect.Effect<BulkJob, JobMissing | JobStateRefused>
    /** Starts what is due, and gives the jobs that run. */
    readonly running: (at: DateTime.Utc) => Effect.Effect<ReadonlyArray<JobId>>
    /** Deals with the next clients of a running job; where it goes on from then, null when it doesn't. */
    readonly step: (id: JobId, at: DateTime.Utc, clients: number) => Effect.Effect<number | null>
    /** Ends a running job that can't go on. */
    readonly fail: (id: JobId, at: DateTime.Utc, error: string) => Effect.Effect<void>
    /** Tells that there may be something to do. */
    readonly changes: Stream.Stream<void>
  }
>() {}
