import { Clock, DateTime, Deferred, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { StreamLimit } from "../../api/problems/stream.ts"
import { DhcpFilterId } from "../../schema/DhcpFilter.ts"
import { decodeCursor } from "../../schema/Page.ts"
import { parsePosition } from "../../schema/StreamPosition.ts"
import { canonicalInstant } from "../../schema/Time.ts"
import { DhcpEvents, type EventPosition } from "../../services/DhcpEvents.ts"
import { Ingest } from "../../services/Ingest.ts"
import { LiveEvents } from "../../services/LiveEvents.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { ingestStream } from "./ingestStream.ts"
import { Draining } from "./Listener.ts"
import { liveFrames } from "./liveStream.ts"
import { sseResponse } from "./sse.ts"

const filterId = idFrom(DhcpFilterId, "filter")

const day = 86_400_000

const invalid = (pointer: string, message: string) =>
  new InvalidRequest({
    detail: `The query is not valid at ${pointer}: ${message}`,
    errors: [{ in: "query", pointer, message }]
  })

const positionOf = (cursor: string): Effect.Effect<EventPosition, InvalidRequest> => {
  const keys = decodeCursor(cursor, 3)
  const [time, batch, row] = keys ?? []
  return typeof time === "string" && canonicalInstant(time) === time && typeof batch === "number" &&
      typeof row === "number"
    ? Effect.succeed({ event_time: time, batch, row })
    : Effect.fail(invalidCursor())
}

export const DhcpEventsHttp = group(
  Api,
  "dhcpEvents",
  Effect.fnUntraced(function*(handlers) {
    const ingest = yield* Ingest
    const events = yield* DhcpEvents
    const live = yield* LiveEvents
    const draining = yield* Draining
    yield* Effect.forkScoped(Effect.zipRight(Deferred.await(draining), live.endAll("shutdown")))
    return handlers
      .handleRaw("ingest", ingestStream(ingest))
      .handle(
        "list",
        Effect.fnUntraced(function*({ urlParams }) {
          const now = yield* Clock.currentTimeMillis
          const end = urlParams.end === undefined ? now : Date.parse(urlParams.end)
          const start = urlParams.start === undefined ? end - day : Date.parse(urlParams.start)
          if (start >= end) return yield* invalid("/start", "Expected a start before the end")
          return yield* events.list({
            filter: urlParams.filter,
            start: DateTime.toDate(DateTime.unsafeMake(start)),
            end: DateTime.toDate(DateTime.unsafeMake(end)),
            limit: urlParams.limit,
            after: urlParams.cursor === undefined ? undefined : yield* positionOf(urlParams.cursor),
            count: urlParams.count === "true"
          })
        })
      )
      .handle(
        "stream",
        Effect.fnUntraced(function*({ headers, urlParams }) {
          const { id: userId } = yield* CurrentUser
          const { address, credential } = yield* CurrentRequest
          if (credential === undefined) return yield* Effect.dieMessage("a stream has a caller")
          const resumed = headers["last-event-id"]
          const filter = urlParams.filter_id === undefined ? undefined : yield* filterId.parse(urlParams.filter_id)
          const stream = yield* live.open({ userId, credential, address }, {
            filterId: filter,
            after: resumed === undefined ? undefined : parsePosition(resumed)
          }).pipe(Effect.catchTags({
            "DhcpFilters/FilterMissing": filterId.missing,
            "LiveEvents/TooManyStreams": ({ max }) =>
              new StreamLimit({ detail: `A user has at most ${max} live streams on a node`, retry_after: 5 })
          }))
          return sseResponse(liveFrames(stream))
        })
      )
  })
)
