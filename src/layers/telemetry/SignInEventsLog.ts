import { Effect, Layer } from "effect"
import { SignInEvents } from "../../services/SignInEvents.ts"

/** Writes each event to the log, as fields. */
export const SignInEventsLog = Layer.succeed(
  SignInEvents,
  SignInEvents.of({
    publish: ({ address, detail, type, userId, username }) =>
      Effect.annotateLogs(Effect.logInfo("sign-in"), {
        event: type,
        user_id: userId ?? "-",
        username: username ?? "-",
        address,
        ...detail
      })
  })
)
