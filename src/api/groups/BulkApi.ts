import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { BulkPreviewRequest, BulkPreviewResult } from "../../schema/BulkCriteria.ts"
import { BulkExecuteRequest, BulkItem, BulkJob, JobStatus } from "../../schema/BulkJob.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Reason } from "../../schema/ProtectedMac.ts"
import { Authentication } from "../Auth.ts"
import { body, freeBody, optionalBody, path, query, requires, traits, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused } from "../problems/access.ts"
import {
  BulkLimitExceeded,
  CriteriaHashMismatch,
  JobNotCancellable,
  JobNotUndoable,
  PreviewStale
} from "../problems/enforcement.ts"

/** Bulk job cancel result (specification 2.5). */
export const CancelResult = Schema.Struct({
  success: Schema.Literal(true),
  job_id: Schema.String,
  status: Schema.Literal("cancelled")
}).annotations({ identifier: "BulkCancelResult" })

const bulk = "/api/actions/bulk" as const
const job = `${bulk}/jobs/:id` as const
const jobPath = path({ id: Schema.String })

export class BulkApi extends HttpApiGroup.make("bulk")
  .add(
    HttpApiEndpoint.post("preview", `${bulk}/preview`)
      .setPayload(body(BulkPreviewRequest))
      .addSuccess(BulkPreviewResult)
      .annotate(OpenApi.Summary, "Preview a bulk action")
      .annotate(
        OpenApi.Description,
        "Which clients an action would be for. Every criterion narrows the choice; a client matches by its events in the observed traffic. Criteria stand in `criteria` or at the top level; an unknown one is refused."
      )
      .annotateContext(requires("actions.bulk:preview"))
      .annotateContext(unaudited)
  )
  .add(
    HttpApiEndpoint.post("execute", `${bulk}/execute`)
      .setPayload(body(BulkExecuteRequest))
      .addSuccess(BulkJob, { status: 202 })
      .addError(wire(CriteriaHashMismatch))
      .addError(wire(BulkLimitExceeded))
      .addError(wire(PreviewStale))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Carry out a bulk action")
      .annotate(
        OpenApi.Description,
        "Takes what was previewed with its hash, and with `match_digest` only as long as the same clients match. The job acts on the clients that match when it is made, also when it is scheduled for later."
      )
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("actions.bulk:execute"))
  )
  .add(
    HttpApiEndpoint.get("listJobs", `${bulk}/jobs`)
      .setUrlParams(query({ ...PageQuery, status: Schema.optional(JobStatus) }))
      .addSuccess(PageOf(BulkJob))
      .annotate(OpenApi.Summary, "List bulk jobs")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.get("getJob", job)
      .setPath(jobPath)
      .addSuccess(BulkJob)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a bulk job")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.get("listItems", `${job}/items`)
      .setPath(jobPath)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(BulkItem))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "List the clients of a bulk job")
      .annotate(OpenApi.Description, "In the order in which they are worked off.")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.get("jobEvents", `${job}/events`)
      .setPath(jobPath)
      .addSuccess(Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" })))
      .addSuccess(HttpApiSchema.NoContent)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Follow a bulk job")
      .annotate(
        OpenApi.Description,
        "Server-sent events: `progress` with the job whenever it has changed, `end` with its final state, after which the stream ends. A `Last-Event-ID` spares what was seen already; to one who has seen the end the answer is 204."
      )
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.post("cancel", `${job}/cancel`)
      .setPath(jobPath)
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(CancelResult)
      .addError(wire(NotFound))
      .addError(wire(JobNotCancellable))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Cancel a bulk job")
      .annotate(OpenApi.Description, "Once this is answered the job acts on nothing more; what it did stays.")
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("actions.bulk:execute"))
  )
  .add(
    HttpApiEndpoint.post("undo", `${job}/undo`)
      .setPath(jobPath)
      .setPayload(body(Schema.Struct({ reason: Schema.optional(Reason) })))
      .addSuccess(BulkJob, { status: 202 })
      .addError(wire(NotFound))
      .addError(wire(JobNotUndoable))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Undo a bulk job")
      .annotate(
        OpenApi.Description,
        "Makes a job that restores each client's state from before; what was changed by others since then stays."
      )
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("actions.bulk:execute"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Bulk actions", description: "Actions on all clients that match." }))
{}
