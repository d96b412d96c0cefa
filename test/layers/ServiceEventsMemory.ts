import { Context, DateTime, Effect, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { isAtLeast, type ServiceEvent, serviceEvent } from "../../src/schema/ServiceEvent.ts"
import { type EventPosition, type EventQuery, ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { newestOf } from "./AutomationState.ts"

/** Every event that was published, in order; its number is its place in the list, from 1. */
export class EventsState extends Context.Tag("test/EventsState")<EventsState, Array<ServiceEvent | undefined>>() {}

export const EventsStateMemory = Layer.sync(EventsState, () => [])

const asks = ({ end, hidden, min_severity, start, subject, type }: EventQuery) => (event: ServiceEvent) =>
  !hidden?.includes(event.type) && (type === undefined || event.type === type) &&
  (subject === undefined || event.subject === subject) &&
  (min_severity === undefined || isAtLeast(event.severity, min_severity)) &&
  (start === undefined || DateTime.greaterThanOrEqualTo(event.time, start)) &&
  (end === undefined || DateTime.lessThanOrEqualTo(event.time, end))

const positionAt = (place: number) => `0.${place}` as EventPosition

export const ServiceEventsMemory = Layer.effect(
  ServiceEvents,
  Effect.map(EventsState, (events) => {
    const kept = () => events.flatMap((event, index) => event === undefined ? [] : [{ event, place: index + 1 }])
    return ServiceEvents.of({
      publish: (drafts) =>
        Effect.sync(() => void events.push(...drafts.map((draft) => serviceEvent(randomUUID(), draft)))),
      list: (query) =>
        Effect.suspend(() =>
          newestOf(
            kept().map(({ event }) => event).filter(asks(query)),
            query,
            ({ id, time }) => ({ at: time, id })
          )
        ),
      read: (after, limit) =>
        Effect.sync(() =>
          kept().filter(({ place }) => place > Number(after?.split(".")[1] ?? 0)).slice(0, limit)
            .map(({ event, place }) => ({ position: positionAt(place), event }))
        ),
      end: Effect.sync(() => {
        const last = kept().at(-1)
        return last && positionAt(last.place)
      }),
      positionOf: (id) =>
        Effect.sync(() => {
          const found = kept().find(({ event }) => event.id === id)
          return Option.fromNullable(found && positionAt(found.place))
        }),
      prune: (before) =>
        Effect.sync(() => {
          for (const { event, place } of kept()) {
            if (DateTime.lessThan(event.time, before)) events[place - 1] = undefined
          }
        })
    })
  })
).pipe(Layer.provideMerge(EventsStateMemory))
