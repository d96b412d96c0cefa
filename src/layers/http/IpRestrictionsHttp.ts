import { HttpServerResponse } from "@effect/platform"
import { DateTime, Effect, Option, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { RestrictionLimit, SelfLockout } from "../../api/problems/access.ts"
import { evaluate, IpRestriction, IpRestrictionId, restrictionsMax } from "../../schema/IpRestriction.ts"
import type { UserId } from "../../schema/User.ts"
import { Ids } from "../../services/Ids.ts"
import { IpGuard } from "../../services/IpGuard.ts"
import { type Admit, IpRestrictions } from "../../services/IpRestrictions.ts"
import { Users } from "../../services/Users.ts"
import { CurrentRequest, note } from "./CurrentRequest.ts"
import { group } from "./group.ts"
import { idFrom, userIds } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const restrictionId = idFrom(IpRestrictionId, "IP restriction")
const selfLockout = () =>
  new SelfLockout({ detail: "Your own address would be refused; send force to change it anyway" })

const encode = Schema.encodeSync(IpRestriction)

export const IpRestrictionsHttp = group(
  Api,
  "ipRestrictions",
  Effect.fnUntraced(function*(handlers) {
    const restrictions = yield* IpRestrictions
    const guard = yield* IpGuard
    const users = yield* Users
    const ids = yield* Ids

    /** Another user's are there only for those who manage them. */
    const user = Effect.fnUntraced(function*(id: UserId) {
      const caller = yield* CurrentUser
      if (id === caller.id) return id
      const visible = caller.permissions.includes("ip_restrictions:manage") && Option.isSome(yield* users.get(id))
      return visible ? id : yield* userIds.missing()
    })

    const find = Effect.fnUntraced(function*(text: string) {
      const found = yield* Effect.flatMap(restrictionId.parse(text), restrictions.get)
      const caller = yield* CurrentUser
      const visible = Option.isSome(found) &&
        (found.value.entry.user_id === caller.id || caller.permissions.includes("ip_restrictions:manage"))
      return visible ? found.value : yield* restrictionId.missing()
    })

    /** Holds changes to the caller's own entries to admitting the address that the caller has now. */
    const admission = Effect.fnUntraced(function*(owner: UserId, force: boolean) {
      const caller = yield* CurrentUser
      const { address } = yield* CurrentRequest
      const now = yield* DateTime.now
      const admit: Admit = (after) => force || owner !== caller.id || evaluate(after, address, now).allowed
      return admit
    })

    return handlers
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload: { force, user_id, ...draft } }) {
          const caller = yield* CurrentUser
          const userId = user_id === undefined ? caller.id : yield* user(user_id)
          const id = IpRestrictionId.make(yield* ids.uuid)
          const created = yield* restrictions.create(
            { id, userId, draft, by: caller.id, at: yield* DateTime.now },
            yield* admission(userId, force)
          ).pipe(Effect.catchTags({
            "IpRestrictions/RestrictionRefused": selfLockout,
            "IpRestrictions/TooManyRestrictions": () =>
              new RestrictionLimit({ detail: `A user has at most ${restrictionsMax} IP restrictions` })
          }))
          yield* guard.changed
          const answer = encode(created.entry)
          yield* note({ target: id, after: answer, revision: created.revision })
          return HttpServerResponse.unsafeJson(answer, {
            status: 201,
            headers: { location: `/api/ip-restrictions/${id}` }
          })
        })
      )
      .handle(
        "check",
        Effect.fnUntraced(function*({ payload }) {
          const rules = yield* Effect.flatMap(user(payload.user_id), restrictions.ofUser)
          return { ...payload, ...evaluate(rules, payload.ip, yield* DateTime.now) }
        })
      )
      .handle(
        "ofUser",
        Effect.fnUntraced(function*({ path }) {
          const userId = yield* Effect.flatMap(userIds.parse(path.id), user)
          const entries = yield* restrictions.ofUser(userId)
          return {
            count: entries.length,
            restrictions: Object.fromEntries(entries.map((entry) => [entry.id, entry])),
            user_id: userId
          }
        })
      )
      .handle(
        "get",
        ({ path }) =>
          find(path.id).pipe(
            Effect.tap(({ revision }) => note({ revision })),
            Effect.map(({ entry }) => entry)
          )
      )
      .handle(
        "update",
        Effect.fnUntraced(function*({ path, payload }) {
          const { entry } = yield* find(path.id)
          const change = { enabled: payload.enabled, at: yield* DateTime.now, expected: yield* expected }
          const changed = yield* restrictions.setEnabled(
            entry.id,
            change,
            yield* admission(entry.user_id, payload.force)
          ).pipe(Effect.catchTags({
            "IpRestrictions/RestrictionMissing": restrictionId.missing,
            "IpRestrictions/RestrictionRefused": selfLockout,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* guard.changed
          yield* note({ before: encode(entry), after: encode(changed.entry), revision: changed.revision })
          return changed.entry
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function*({ path, urlParams }) {
          const { entry } = yield* find(path.id)
          const admit = yield* admission(entry.user_id, urlParams.force === "true")
          yield* restrictions.remove(entry.id, yield* expected, admit).pipe(Effect.catchTags({
            "IpRestrictions/RestrictionMissing": restrictionId.missing,
            "IpRestrictions/RestrictionRefused": selfLockout,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* guard.changed
          yield* note({ before: encode(entry) })
          return { success: true as const, id: entry.id }
        })
      )
  })
)
