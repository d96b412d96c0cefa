import { DateTime, Effect } from "effect"
import { type EventType, eventTypes, momentOf } from "../schema/ServiceEvent.ts"
import { ServiceEvents } from "./ServiceEvents.ts"

const newest = (type: EventType, subject: string) =>
  Effect.gen(function*() {
    const events = yield* ServiceEvents
    const { items } = yield* Effect.orDie(events.list({ type, subject, limit: 1 }))
    return items[0] === undefined ? Number.NEGATIVE_INFINITY : DateTime.toEpochMillis(items[0].time)
  })

/** Whether the last that was told of a subject is that the state which a type begins lasts. */
export const isFiring = Effect.fn("isFiring")(function*(type: EventType, subject: string) {
  const { alert } = momentOf(type)
  const end = eventTypes.find((other) => momentOf(other).alert === alert && momentOf(other).state === "resolved")
  const began = yield* newest(type, subject)
  return Number.isFinite(began) && (end === undefined || began > (yield* newest(end, subject)))
})
