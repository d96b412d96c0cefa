import { Chunk, Duration, Effect, Option, Schema, Stream } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { type EventType, isAtLeast, ServiceEvent } from "../../schema/ServiceEvent.ts"
import { type EventPosition, type EventQuery, ServiceEvents } from "../../services/ServiceEvents.ts"
import { invalidCursor } from "./cursor.ts"
import { hiddenFrom } from "./eventTypesHidden.ts"
import { group } from "./group.ts"
import { Draining } from "./Listener.ts"
import { rateLimited } from "./rateLimited.ts"
import { heartbeat, sseFrame, sseResponse } from "./sse.ts"

const timings = {
  poll: Duration.seconds(1),
  heartbeatPolls: 15,
  life: Duration.hours(1),
  retry: Duration.seconds(10)
}
const streamsMax = 20
const pageSize = 200

const isUuid = Schema.is(Schema.UUID)
const encode = Schema.encodeSync(ServiceEvent)

type Asked = Pick<EventQuery, "type" | "min_severity" | "subject">

const wants = ({ min_severity, subject, type }: Asked, hidden: ReadonlyArray<EventType>) => (event: ServiceEvent) =>
  !hidden.includes(event.type) && (type === undefined || event.type === type) &&
  (subject === undefined || event.subject === subject) &&
  (min_severity === undefined || isAtLeast(event.severity, min_severity))

const frame = (event: ServiceEvent) => sseFrame({ id: event.id, event: event.type, data: encode(event) })

export const EventsHttp = group(
  Api,
  "events",
  Effect.fnUntraced(function*(handlers) {
    const events = yield* ServiceEvents
    const draining = yield* Draining
    const open = new Map<number, number>()

    /** The frames behind a position for as long as somebody reads them. */
    const follow = (after: EventPosition | undefined, wanted: (event: ServiceEvent) => boolean) =>
      Stream.paginateChunkEffect(
        { after, idle: 0 },
        Effect.fnUntraced(function*(state) {
          const found = yield* events.read(state.after, pageSize)
          const last = found.at(-1)
          if (last === undefined) {
            yield* Effect.sleep(timings.poll)
            const due = state.idle + 1 >= timings.heartbeatPolls
            const beat = due ? Chunk.of(heartbeat) : Chunk.empty<Uint8Array>()
            return [beat, Option.some({ after: state.after, idle: due ? 0 : state.idle + 1 })]
          }
          const frames = found.filter(({ event }) => wanted(event)).map(({ event }) => frame(event))
          return [Chunk.unsafeFromArray(frames), Option.some({ after: last.position, idle: 0 })]
        })
      )

    /** Where a stream begins, and what it says first. */
    const beginning = Effect.fnUntraced(function*(lastId: string | undefined) {
      const hello = sseFrame({ retry: Duration.toMillis(timings.retry) / 2 })
      if (lastId === undefined) return { after: yield* events.end, hello: [hello] }
      const found = isUuid(lastId) ? yield* events.positionOf(lastId) : Option.none()
      return Option.match(found, {
        onNone: () => ({ after: undefined, hello: [hello, sseFrame({ event: "gap", data: { after: null } })] }),
        onSome: (after) => ({ after, hello: [hello] })
      })
    })

    const counted = (user: number) =>
      Effect.acquireRelease(
        Effect.sync(() => void open.set(user, (open.get(user) ?? 0) + 1)),
        () =>
          Effect.sync(() => {
            const left = open.get(user)! - 1
            if (left === 0) open.delete(user)
            else open.set(user, left)
          })
      )

    return handlers
      .handle(
        "list",
        Effect.fnUntraced(function*({ urlParams }) {
          const hidden = hiddenFrom(yield* CurrentUser)
          return yield* events.list({ ...urlParams, hidden }).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
        })
      )
      .handle(
        "stream",
        Effect.fnUntraced(function*({ headers, urlParams }) {
          const user = yield* CurrentUser
          if ((open.get(user.id) ?? 0) >= streamsMax) {
            return yield* rateLimited(`A user has at most ${streamsMax} streams at a time`)(timings.retry)
          }
          const { after, hello } = yield* beginning(headers["last-event-id"])
          const frames = Stream.fromIterable(hello).pipe(
            Stream.concat(follow(after, wants(urlParams, hiddenFrom(user)))),
            Stream.interruptWhenDeferred(draining),
            Stream.interruptAfter(timings.life),
            (stream) => Stream.flatMap(Stream.scoped(counted(user.id)), () => stream)
          )
          return sseResponse(frames)
        })
      )
  })
)
