import { Context, Data, DateTime, Duration, Effect, Layer } from "effect"
import type { ActionSpec } from "../schema/Action.ts"
import { type ClientIdentity, identityOf } from "../schema/ActionRequest.ts"
import type { BulkCriteria, BulkPreviewResult } from "../schema/BulkCriteria.ts"
import { type BulkExecuteRequest, type BulkJob, JobId } from "../schema/BulkJob.ts"
import type { UserId } from "../schema/User.ts"
import { ActionLimits } from "./ActionLimits.ts"
import { criteriaHash, matchDigest, normalised, previewValidS, staleness } from "./bulkDigest.ts"
import { asksTraffic, bulkFilter } from "./bulkFilter.ts"
import { BulkJobs } from "./BulkJobs.ts"
import { Ids } from "./Ids.ts"
import { type MatchingClients, ObservedClients } from "./ObservedClients.ts"
import { RuleTargets } from "./RuleTargets.ts"

/** The hash isn't that of the action and the criteria it came with. */
export class HashMismatch extends Data.TaggedError("BulkActions/HashMismatch")<{}> {}

/** Other clients match than those that were previewed (`total` of them now), or the preview has expired (null). */
export class PreviewStale extends Data.TaggedError("BulkActions/PreviewStale")<{ readonly total: number | null }> {}

export class OverLimit extends Data.TaggedError("BulkActions/OverLimit")<{
  readonly total: number
  readonly limit: number
}> {}

/** Actions on all clients that match criteria: looked at first, then carried out as a job. */
export class BulkActions extends Context.Tag("services/BulkActions")<
  BulkActions,
  {
    readonly preview: (action: ActionSpec, criteria: BulkCriteria) => Effect.Effect<BulkPreviewResult>
    /** The job acts on the clients that match now, and on no others. */
    readonly execute: (
      request: BulkExecuteRequest,
      by: { readonly user: UserId; readonly requestId: string }
    ) => Effect.Effect<BulkJob, HashMismatch | PreviewStale | OverLimit>
  }
>() {}

const samples = 10

export const BulkActionsLive = Layer.effect(
  BulkActions,
  Effect.gen(function*() {
    const observed = yield* ObservedClients
    const targets = yield* RuleTargets
    const jobs = yield* BulkJobs
    const ids = yield* Ids
    const { bulkMax } = yield* ActionLimits

    /** What matches, of which one more than the limit tells that it is exceeded. */
    const match = Effect.fn("BulkActions.match")(function*({ type }: ActionSpec, criteria: BulkCriteria) {
      const ofRule = criteria.rule_id === undefined ? undefined : yield* targets.of(criteria.rule_id)
      const withoutMac = type === "tag"
      if (asksTraffic(criteria)) {
        return yield* observed.match({
          events: bulkFilter(criteria, ofRule),
          minRequests: criteria.min_requests,
          withoutMac,
          limit: bulkMax
        })
      }
      const macs = criteria.macs && new Set<string>(criteria.macs)
      const named = ofRule === undefined
        ? [...macs ?? []]
        : ofRule.filter((client) => macs === undefined || macs.has(client))
      const clients = named.filter((client) => withoutMac || client.includes(":")).sort()
      const found: MatchingClients = {
        clients: clients.slice(0, bulkMax),
        total: clients.length,
        skippedWithoutMac: named.length - clients.length
      }
      return found
    })

    return BulkActions.of({
      preview: Effect.fn("BulkActions.preview")(function*(action, criteria) {
        const { clients, skippedWithoutMac, total } = yield* match(action, criteria)
        const until = DateTime.addDuration(yield* DateTime.now, Duration.seconds(previewValidS))
        const untilS = Math.floor(DateTime.toEpochMillis(until) / 1000)
        const sample = clients.slice(0, samples).map((client): ClientIdentity => identityOf(client))
        return {
          total_count: total,
          sample_macs: sample.flatMap(({ client_mac }) => client_mac === null ? [] : [client_mac]),
          sample_clients: sample.map(({ client, client_mac }) => ({ client_mac: client_mac ?? "", client })),
          exceeds_limit: total > bulkMax,
          max_limit: bulkMax,
          criteria_hash: criteriaHash(action, criteria),
          match_digest: matchDigest(clients, total, untilS),
          preview_expires_at: DateTime.unsafeMake(untilS * 1000),
          skipped_without_mac: skippedWithoutMac
        }
      }),
      execute: Effect.fn("BulkActions.execute")(function*(request, by) {
        const { action, criteria, criteria_hash, duration_minutes, match_digest, reason } = request
        if (criteriaHash(action, criteria) !== criteria_hash) return yield* new HashMismatch()
        const { clients, total } = yield* match(action, criteria)
        const at = yield* DateTime.now
        if (total > bulkMax) return yield* new OverLimit({ total, limit: bulkMax })
        const stale = match_digest === undefined
          ? undefined
          : staleness(match_digest, clients, total, DateTime.toEpochMillis(at) / 1000)
        if (stale !== undefined) return yield* new PreviewStale({ total: stale === "drifted" ? total : null })
        return yield* jobs.create({
          id: JobId.make(yield* ids.uuid),
          action: duration_minutes === undefined ? action : { ...action, duration_minutes },
          criteria: normalised(criteria),
          criteria_hash,
          reason,
          created_by: by.user,
          request_id: by.requestId,
          scheduled_at: request.scheduled_at ?? null,
          created_at: at
        }, clients.map((client) => identityOf(client)))
      })
    })
  })
)
