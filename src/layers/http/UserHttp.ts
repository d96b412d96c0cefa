import { DateTime, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { FeedbackLimited } from "../../api/problems/access.ts"
import { DhcpFilterId } from "../../schema/DhcpFilter.ts"
import { FeedbackId } from "../../schema/Feedback.ts"
import { DhcpFilters } from "../../services/DhcpFilters.ts"
import { FeedbackBox } from "../../services/FeedbackBox.ts"
import { Ids } from "../../services/Ids.ts"
import { type Preference, Preferences } from "../../services/Preferences.ts"
import { note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const answer = ({ revision, settings }: Preference) =>
  Effect.as(note({ revision }), { success: true as const, settings })

const unknownFilter = () => {
  const message = "Expected the id of one of your filters"
  return new InvalidRequest({
    detail: `The body is not valid at /default_filter_id: ${message}`,
    errors: [{ in: "body", pointer: "/default_filter_id", message }]
  })
}

export const UserHttp = group(
  Api,
  "user",
  Effect.fnUntraced(function*(handlers) {
    const preferences = yield* Preferences
    const filters = yield* DhcpFilters
    return handlers
      .handle("settings", () =>
        CurrentUser.pipe(
          Effect.flatMap(({ id }) => preferences.get(id)),
          Effect.flatMap(answer)
        ))
      .handle(
        "updateSettings",
        Effect.fnUntraced(function*({ payload }) {
          const { id } = yield* CurrentUser
          const chosen = payload.default_filter_id
          if (chosen !== undefined && chosen !== null) {
            yield* Effect.catchAll(filters.get(id, DhcpFilterId.make(chosen)), unknownFilter)
          }
          const before = yield* preferences.get(id)
          const changed = yield* preferences.merge(id, payload, yield* expected).pipe(
            Effect.catchTag("Revision/RevisionMismatch", preconditionFailed)
          )
          yield* note({ target: String(id), before: before.settings, after: changed.settings })
          return yield* answer(changed)
        })
      )
  })
)

export const FeedbackHttp = group(
  Api,
  "feedback",
  Effect.fnUntraced(function*(handlers) {
    const box = yield* FeedbackBox
    const ids = yield* Ids
    return handlers
      .handle(
        "submit",
        Effect.fnUntraced(function*({ payload }) {
          const { id: userId } = yield* CurrentUser
          const id = FeedbackId.make(yield* ids.uuid)
          const { status } = yield* box.submit({ id, userId, draft: payload, at: yield* DateTime.now }).pipe(
            Effect.catchTag("FeedbackBox/FeedbackLimitReached", ({ retryAfterSeconds }) =>
              new FeedbackLimited({
                detail: `Five messages an hour are taken; the next in ${retryAfterSeconds} s`,
                retry_after: retryAfterSeconds
              }))
          )
          return { success: true as const, id, status }
        })
      )
      .handle("list", ({ urlParams }) => box.list(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor)))
  })
)
