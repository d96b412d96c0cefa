import { Context, DateTime, Effect, Layer } from "effect"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { type SignInEvent, SignInEvents } from "../../src/services/SignInEvents.ts"
import { signInServiceEvents } from "../../src/services/signInServiceEvents.ts"
import { ServiceEventsMemory } from "./ServiceEventsMemory.ts"

/** Every event that was published, in order. */
export class PublishedEvents extends Context.Tag("test/PublishedEvents")<PublishedEvents, Array<SignInEvent>>() {}

export const SignInEventsMemory = Layer.effect(
  SignInEvents,
  Effect.map(Effect.all([PublishedEvents, ServiceEvents]), ([published, events]) =>
    SignInEvents.of({
      publish: (event) =>
        Effect.flatMap(DateTime.now, (now) => {
          published.push(event)
          return events.publish(signInServiceEvents(event, now))
        })
    }))
).pipe(
  Layer.provideMerge(Layer.sync(PublishedEvents, () => [])),
  Layer.provide(ServiceEventsMemory)
)
