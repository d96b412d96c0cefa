import { Clock, DateTime, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { decodeCursor } from "../../schema/Page.ts"
import { canonicalInstant } from "../../schema/Time.ts"
import { DhcpEvents, type EventPosition } from "../../services/DhcpEvents.ts"
import { Ingest } from "../../services/Ingest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { ingestStream } from "./ingestStream.ts"

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
  })
)
