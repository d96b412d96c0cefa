import { HttpServerResponse } from "@effect/platform"
import { DateTime, Deferred, Effect, Schedule, Schema, Stream } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import {
  BulkLimitExceeded,
  CriteriaHashMismatch,
  JobNotCancellable,
  JobNotUndoable,
  PreviewStale
} from "../../api/problems/enforcement.ts"
import { criteriaOf } from "../../schema/BulkCriteria.ts"
import { BulkJob, JobId } from "../../schema/BulkJob.ts"
import { BulkActions } from "../../services/BulkActions.ts"
import { BulkJobs } from "../../services/BulkJobs.ts"
import { Ids } from "../../services/Ids.ts"
import { CurrentRequest, note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { Draining } from "./Listener.ts"
import { heartbeat, sseFrame, sseResponse } from "./sse.ts"

const jobId = idFrom(JobId, "job")
const encodeJob = Schema.encodeSync(BulkJob)
const isOpen = ({ status }: BulkJob) => status === "scheduled" || status === "running"

const accepted = (job: BulkJob) =>
  HttpServerResponse.unsafeJson(encodeJob(job), {
    status: 202,
    headers: { location: `/api/actions/bulk/jobs/${job.id}` }
  })

const pollEvery = "250 millis"

/** Names what a follower has seen of a job. */
const eventId = ({ processed, status }: BulkJob) => `${status}-${processed}`
const eventOf = (job: BulkJob) =>
  sseFrame({ id: eventId(job), event: isOpen(job) ? "progress" : "end", data: encodeJob(job) })

export const BulkHttp = group(
  Api,
  "bulk",
  Effect.fnUntraced(function*(handlers) {
    const bulk = yield* BulkActions
    const jobs = yield* BulkJobs
    const ids = yield* Ids
    const draining = yield* Draining

    const find = (id: string) =>
      jobId.parse(id).pipe(
        Effect.flatMap(jobs.get),
        Effect.catchTag("BulkJobs/JobMissing", jobId.missing)
      )

    const follow = (id: JobId, lastSeen: string | undefined) =>
      Stream.repeatEffectWithSchedule(jobs.get(id), Schedule.spaced(pollEvery)).pipe(
        Stream.changesWith((a, b) => a.status === b.status && a.processed === b.processed),
        Stream.takeUntil((job) => !isOpen(job)),
        Stream.dropWhile((job) => eventId(job) === lastSeen),
        Stream.map(eventOf),
        Stream.merge(
          Stream.repeatEffectWithSchedule(Effect.succeed(heartbeat), Schedule.spaced("15 seconds")),
          {
            haltStrategy: "left"
          }
        ),
        Stream.interruptWhen(Deferred.await(draining))
      )

    return handlers
      .handle("preview", ({ payload }) => bulk.preview(payload.action, criteriaOf(payload)))
      .handle(
        "execute",
        Effect.fnUntraced(function*({ payload }) {
          const user = yield* CurrentUser
          const { id: requestId } = yield* CurrentRequest
          const job = yield* bulk.execute(payload, { user: user.id, requestId }).pipe(
            Effect.catchTags({
              "BulkActions/HashMismatch": () =>
                new CriteriaHashMismatch({ detail: "criteria_hash is not that of this action and these criteria" }),
              "BulkActions/OverLimit": ({ limit, total }) =>
                new BulkLimitExceeded({
                  detail: `${total} clients match, a job may act on ${limit}`,
                  total_count: total,
                  max_limit: limit
                }),
              "BulkActions/PreviewStale": ({ total }) =>
                new PreviewStale({
                  detail: total === null ? "The preview has expired" : "Other clients match than those previewed",
                  total_count: total
                })
            })
          )
          return accepted(job)
        }),
        { uninterruptible: true }
      )
      .handle(
        "listJobs",
        ({ urlParams }) => jobs.list(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
      )
      .handle("getJob", ({ path }) => find(path.id))
      .handle("listItems", ({ path, urlParams }) =>
        jobId.parse(path.id).pipe(
          Effect.flatMap((id) => jobs.items(id, urlParams)),
          Effect.catchTags({ "BulkJobs/JobMissing": jobId.missing, "Page/InvalidCursor": invalidCursor })
        ))
      .handle("jobEvents", ({ path, request }) =>
        Effect.map(find(path.id), (job) => {
          const lastSeen = request.headers["last-event-id"]
          // By this answer a browser's EventSource doesn't come again.
          if (!isOpen(job) && lastSeen === eventId(job)) return HttpServerResponse.empty({ status: 204 })
          return sseResponse(follow(job.id, lastSeen))
        }))
      .handle(
        "cancel",
        ({ path }) =>
          Effect.all([jobId.parse(path.id), DateTime.now]).pipe(
            Effect.flatMap(([id, at]) => jobs.cancel(id, at)),
            Effect.tap(({ processed, status, total }) => note({ after: { status, processed, total } })),
            Effect.map(({ id }) => ({ success: true as const, job_id: id, status: "cancelled" as const })),
            Effect.catchTags({
              "BulkJobs/JobMissing": jobId.missing,
              "BulkJobs/JobStateRefused": ({ status }) =>
                new JobNotCancellable({ detail: `The job is ${status}`, job_status: status })
            })
          ),
        { uninterruptible: true }
      )
      .handle(
        "undo",
        Effect.fnUntraced(function*({ path, payload }) {
          const user = yield* CurrentUser
          const { id: requestId } = yield* CurrentRequest
          const of = yield* jobId.parse(path.id)
          const job = yield* jobs.undo(of, {
            id: JobId.make(yield* ids.uuid),
            created_by: user.id,
            created_at: yield* DateTime.now,
            request_id: requestId,
            reason: payload.reason ?? `undo of ${of}`
          }).pipe(
            Effect.catchTags({
              "BulkJobs/JobMissing": jobId.missing,
              "BulkJobs/JobStateRefused": ({ status }) =>
                new JobNotUndoable({ detail: `The job is ${status}, or was undone already`, job_status: status })
            })
          )
          return accepted(job)
        }),
        { uninterruptible: true }
      )
  })
)
