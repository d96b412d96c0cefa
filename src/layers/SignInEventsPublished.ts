import { DateTime, Effect, Layer } from "effect"
import { ServiceEvents } from "../services/ServiceEvents.ts"
import { SignInEvents } from "../services/SignInEvents.ts"
import { signInServiceEvents } from "../services/signInServiceEvents.ts"
import { logSignIn } from "./telemetry/logSignIn.ts"

/** Writes each event of sign-in to the log, and those that somebody may wait for among the events of the service. */
export const SignInEventsPublished = Layer.effect(
  SignInEvents,
  Effect.map(ServiceEvents, (events) =>
    SignInEvents.of({
      publish: (event) =>
        logSignIn(event).pipe(
          Effect.zipRight(DateTime.now),
          Effect.flatMap((now) => events.publish(signInServiceEvents(event, now))),
          Effect.catchAllCause((cause) => Effect.logError("an event of sign-in could not be published", cause))
        )
    }))
)
