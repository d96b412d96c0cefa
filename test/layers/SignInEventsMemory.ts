import { Context, Effect, Layer } from "effect"
import { type SignInEvent, SignInEvents } from "../../src/services/SignInEvents.ts"

/** Every event that was published, in order. */
export class PublishedEvents extends Context.Tag("test/PublishedEvents")<PublishedEvents, Array<SignInEvent>>() {}

export const SignInEventsMemory = Layer.effect(
  SignInEvents,
  Effect.map(
    PublishedEvents,
    (events) => SignInEvents.of({ publish: (event) => Effect.sync(() => void events.push(event)) })
  )
).pipe(Layer.provideMerge(Layer.sync(PublishedEvents, () => [])))
