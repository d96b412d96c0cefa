import { Effect } from "effect"
import type { SignInEvent } from "../../services/SignInEvents.ts"

/** Writes an event of sign-in to the log, as fields. */
export const logSignIn = ({ address, detail, type, userId, username }: SignInEvent) =>
  Effect.annotateLogs(Effect.logInfo("sign-in"), {
    event: type,
    user_id: userId ?? "-",
    username: username ?? "-",
    address,
    ...detail
  })
