import { Schema } from "effect"
import { ActionSpec, durationMinutesMax } from "./Action.ts"
import { BulkCriteria } from "./BulkCriteria.ts"
import { Reason } from "./ProtectedMac.ts"
import { UserId } from "./User.ts"

export const JobId = Schema.UUID.pipe(Schema.brand("JobId"))
export type JobId = typeof JobId.Type

export const jobStatuses = ["scheduled", "running", "completed", "partial", "failed", "cancelled"] as const
export const JobStatus = Schema.Literal(...jobStatuses).annotations({
  description: "completed: every client was dealt with; partial: some were refused or failed; failed: it stopped"
})
export type JobStatus = typeof JobStatus.Type

/** A bulk job: its clients are those that matched when it was made. */
export const BulkJob = Schema.Struct({
  id: JobId,
  kind: Schema.Literal("apply", "undo"),
  undo_of: Schema.NullOr(JobId),
  status: JobStatus,
  action: ActionSpec,
  criteria: BulkCriteria,
  criteria_hash: Schema.String,
  reason: Schema.String,
  total: Schema.NonNegativeInt,
  processed: Schema.NonNegativeInt,
  succeeded: Schema.NonNegativeInt,
  skipped: Schema.NonNegativeInt.annotations({
    description: "protected, above the hour's cap, or as wanted already"
  }),
  failed: Schema.NonNegativeInt,
  error: Schema.String,
  created_by: UserId,
  request_id: Schema.String,
  scheduled_at: Schema.NullOr(Schema.DateTimeUtc),
  created_at: Schema.DateTimeUtc,
  started_at: Schema.NullOr(Schema.DateTimeUtc),
  finished_at: Schema.NullOr(Schema.DateTimeUtc)
}).annotations({ identifier: "BulkJob" })
export type BulkJob = typeof BulkJob.Type

export const itemStatuses = ["pending", "succeeded", "skipped", "failed"] as const

/** What a job did, or is to do, with one client. */
export const BulkItem = Schema.Struct({
  position: Schema.NonNegativeInt,
  client: Schema.String,
  client_mac: Schema.NullOr(Schema.String),
  status: Schema.Literal(...itemStatuses),
  detail: Schema.String.annotations({
    description: "created, prolonged; or why it was skipped: in_force, protected, hourly_cap; of an undo: " +
      "removed, restored, changed_since"
  }),
  action_id: Schema.NullOr(Schema.UUID)
}).annotations({ identifier: "BulkItem" })
export type BulkItem = typeof BulkItem.Type

/** Body of an execution: what was previewed, with the hash and the digest of that preview. */
export const BulkExecuteRequest = Schema.Struct({
  action: ActionSpec,
  criteria: BulkCriteria,
  criteria_hash: Schema.String,
  match_digest: Schema.optional(Schema.String),
  scheduled_at: Schema.optional(Schema.DateTimeUtc),
  duration_minutes: Schema.optional(Schema.Int.pipe(Schema.between(1, durationMinutesMax))),
  reason: Reason
}).pipe(
  Schema.filter(({ action, duration_minutes }) =>
    duration_minutes === undefined || action.duration_minutes === undefined ||
    { path: ["duration_minutes"], message: "Expected duration_minutes once: inside action or beside it" }
  )
).annotations({ identifier: "BulkExecuteRequest" })
export type BulkExecuteRequest = typeof BulkExecuteRequest.Type
