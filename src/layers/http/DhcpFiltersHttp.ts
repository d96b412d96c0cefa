import { HttpServerResponse } from "@effect/platform"
import { Clock, DateTime, Effect, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { FilterLimit } from "../../api/problems/stream.ts"
import { DhcpFilter, DhcpFilterId, dhcpFiltersMax } from "../../schema/DhcpFilter.ts"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { DhcpEvents } from "../../services/DhcpEvents.ts"
import { DhcpFilters } from "../../services/DhcpFilters.ts"
import { Ids } from "../../services/Ids.ts"
import { Preferences } from "../../services/Preferences.ts"
import { note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"
import { judgeFilter } from "./violations.ts"

const filterId = idFrom(DhcpFilterId, "filter")
const told = Schema.encodeSync(DhcpFilter)
const judge = judgeFilter(DhcpEventFilter)

export const DhcpFiltersHttp = group(
  Api,
  "dhcpFilters",
  Effect.fnUntraced(function*(handlers) {
    const filters = yield* DhcpFilters
    const events = yield* DhcpEvents
    const preferences = yield* Preferences
    const ids = yield* Ids

    const find = Effect.fnUntraced(function*(text: string) {
      const { id: userId } = yield* CurrentUser
      return yield* Effect.flatMap(filterId.parse(text), (id) => filters.get(userId, id)).pipe(
        Effect.catchTag("DhcpFilters/FilterMissing", filterId.missing)
      )
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentUser, ({ id }) => filters.list(id, urlParams)).pipe(
          Effect.catchTag("Page/InvalidCursor", invalidCursor)
        ))
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const { id: userId } = yield* CurrentUser
          const id = DhcpFilterId.make(yield* ids.uuid)
          const filter = yield* filters.create({ id, userId, draft: payload, at: yield* DateTime.now }).pipe(
            Effect.catchTag(
              "DhcpFilters/TooManyFilters",
              () => new FilterLimit({ detail: `A user has at most ${dhcpFiltersMax} filters` })
            )
          )
          yield* note({ target: id, after: told(filter), revision: filter.revision })
          return HttpServerResponse.unsafeJson(told(filter), {
            status: 201,
            headers: { location: `/api/dhcp-filters/${id}` }
          })
        }),
        { uninterruptible: true }
      )
      .handle(
        "validate",
        Effect.fnUntraced(function*({ payload: { lookback_minutes, match, rules } }) {
          const bare = Array.isArray(rules) || match !== undefined
          const { errors, filter } = judge(bare ? { rules, ...(match === undefined ? {} : { match }) } : rules)
          const verdict = { valid: filter !== undefined, errors, lookback_minutes, canonical: filter ?? null }
          if (filter === undefined) return { ...verdict, matched: null, total: null, match_rate: null }
          const end = yield* Clock.currentTimeMillis
          const { matched, total } = yield* events.countMatches({
            filter,
            start: DateTime.toDate(DateTime.unsafeMake(end - lookback_minutes * 60_000)),
            end: DateTime.toDate(DateTime.unsafeMake(end))
          })
          return { ...verdict, matched, total, match_rate: total === 0 ? null : matched / total }
        })
      )
      .handle("get", ({ path }) => Effect.tap(find(path.id), ({ revision }) => note({ revision })))
      .handle(
        "update",
        Effect.fnUntraced(function*({ path, payload }) {
          const { id: userId } = yield* CurrentUser
          const before = yield* find(path.id)
          const change = { update: payload, at: yield* DateTime.now, expected: yield* expected }
          const filter = yield* filters.update(userId, before.id, change).pipe(Effect.catchTags({
            "DhcpFilters/FilterMissing": filterId.missing,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* note({ before: told(before), after: told(filter), revision: filter.revision })
          return { success: true as const, id: filter.id }
        }),
        { uninterruptible: true }
      )
      .handle(
        "remove",
        Effect.fnUntraced(function*({ path }) {
          const { id: userId } = yield* CurrentUser
          const before = yield* find(path.id)
          yield* filters.remove(userId, before.id, yield* expected).pipe(Effect.catchTags({
            "DhcpFilters/FilterMissing": filterId.missing,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* preferences.forgetFilter(userId, before.id)
          yield* note({ before: told(before) })
          return { success: true as const, id: before.id }
        }),
        { uninterruptible: true }
      )
  })
)
