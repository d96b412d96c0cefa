import { HttpServerResponse } from "@effect/platform"
import { DateTime, Duration, Effect, Either, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { Unavailable } from "../../api/problems.ts"
import { BlocksExhausted, ClientProtected } from "../../api/problems/enforcement.ts"
import { Action, ActionId } from "../../schema/Action.ts"
import { type ActionRequest, identityOf, specOf } from "../../schema/ActionRequest.ts"
import { canonicalDuid } from "../../schema/Duid.ts"
import { canonicalMac, Mac } from "../../schema/Mac.ts"
import { ProtectedMac } from "../../schema/ProtectedMac.ts"
import { Actions } from "../../services/Actions.ts"
import { BulkJobs } from "../../services/BulkJobs.ts"
import { Enforcer } from "../../services/Enforcer.ts"
import { Ids } from "../../services/Ids.ts"
import { ProtectedMacs } from "../../services/ProtectedMacs.ts"
import { note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"

const actionId = idFrom(ActionId, "action")
const protectedMac = idFrom(Mac, "protected MAC")
const encodeAction = Schema.encode(Action)
const encodeProtected = Schema.encode(ProtectedMac)

const canonicalClient = (text: string) => canonicalMac(text) ?? canonicalDuid(text) ?? "unknown"

/** The order that a checked request asks for. */
const orderOf = (request: ActionRequest, id: ActionId, at: DateTime.Utc) => {
  const { duration_minutes, tag, type } = Either.getOrThrow(specOf(request))
  return {
    id,
    type,
    tag: tag ?? null,
    ...identityOf((request.client ?? request.client_mac ?? request.duid)!),
    expires_at: duration_minutes === undefined ? null : DateTime.addDuration(at, Duration.minutes(duration_minutes))
  }
}

const cleanupMessage = (count: number, dryRun: boolean) => {
  const what = count === 1 ? "1 expired action" : `${count} expired actions`
  return count === 0 ? "No expired actions" : dryRun ? `Would clean up ${what}` : `Cleaned up ${what}`
}

export const ActionsHttp = group(
  Api,
  "actions",
  Effect.fnUntraced(function*(handlers) {
    const actions = yield* Actions
    const protectedMacs = yield* ProtectedMacs
    const enforcer = yield* Enforcer
    const jobs = yield* BulkJobs
    const ids = yield* Ids
    return handlers
      .handle(
        "list",
        ({ urlParams }) =>
          actions.list({ ...urlParams, client: urlParams.client && canonicalClient(urlParams.client) }).pipe(
            Effect.catchTag("Page/InvalidCursor", invalidCursor)
          )
      )
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const user = yield* CurrentUser
          const at = yield* DateTime.now
          const order = orderOf(payload, ActionId.make(yield* ids.uuid), at)
          const { action, created } = yield* actions.order(order, {
            at,
            reason: payload.reason,
            origin: { kind: "user", id: String(user.id) }
          }).pipe(
            Effect.mapError(({ reason }) =>
              reason === "protected"
                ? new ClientProtected({ detail: `${order.client} is on the never-block list`, client: order.client })
                : new BlocksExhausted({ detail: "No more clients may be blocked in this hour" })
            )
          )
          return HttpServerResponse.unsafeJson(yield* Effect.orDie(encodeAction(action)), {
            status: created ? 201 : 200,
            headers: created ? { location: `/api/actions/${action.id}` } : {}
          })
        }),
        { uninterruptible: true }
      )
      .handle(
        "removeAll",
        () =>
          Effect.gen(function*() {
            const at = yield* DateTime.now
            const cancelled_jobs = yield* jobs.cancelAll(at)
            const removed_count = yield* actions.removeAll(at)
            yield* note({ target: "all", after: { removed_count, cancelled_jobs } })
            return { success: true as const, removed_count, cancelled_jobs }
          }),
        { uninterruptible: true }
      )
      .handle(
        "listProtected",
        () => Effect.map(protectedMacs.list, (items) => ({ items, total: items.length, next: null }))
      )
      .handle(
        "protect",
        Effect.fnUntraced(function*({ payload }) {
          const user = yield* CurrentUser
          const at = yield* DateTime.now
          yield* note({ target: payload.mac })
          const entry = yield* protectedMacs.add({ mac: payload.mac, comment: payload.comment ?? "", by: user.id, at })
          return HttpServerResponse.unsafeJson(yield* Effect.orDie(encodeProtected(entry)), {
            status: 201,
            headers: { location: "/api/actions/protected" }
          })
        }),
        { uninterruptible: true }
      )
      .handle(
        "unprotect",
        ({ path }) =>
          protectedMac.parse(path.mac).pipe(
            Effect.tap((mac) => note({ target: mac })),
            Effect.flatMap((mac) => Effect.as(protectedMacs.remove(mac), { success: true as const, id: mac })),
            Effect.catchTag("ProtectedMacs/ProtectedMacMissing", protectedMac.missing)
          ),
        { uninterruptible: true }
      )
      .handle(
        "cleanup",
        ({ payload: { dry_run, limit } }) =>
          enforcer.cleanup({ dryRun: dry_run, limit }).pipe(
            Effect.map((count) => ({
              cleaned_count: dry_run ? 0 : count,
              message: cleanupMessage(count, dry_run),
              success: true
            })),
            Effect.catchTag("Enforcer/EnforcementFailed", ({ message }) => new Unavailable({ detail: message }))
          ),
        { uninterruptible: true }
      )
      .handle("get", ({ path }) =>
        actionId.parse(path.id).pipe(
          Effect.flatMap(actions.get),
          Effect.catchTag("Actions/ActionMissing", actionId.missing)
        ))
      .handle(
        "remove",
        ({ path }) =>
          Effect.all([actionId.parse(path.id), DateTime.now]).pipe(
            Effect.flatMap(([id, at]) => actions.remove(id, at)),
            Effect.map(({ id }) => ({ success: true as const, id })),
            Effect.catchTag("Actions/ActionMissing", actionId.missing)
          ),
        { uninterruptible: true }
      )
  })
)
