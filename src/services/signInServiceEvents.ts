import type { DateTime } from "effect"
import type { EventDraft } from "../schema/ServiceEvent.ts"
import type { SignInEvent } from "./SignInEvents.ts"

/** What of sign-in the service tells beyond its log: that an account is locked. */
export const signInServiceEvents = (
  { address, detail, type, userId, username }: SignInEvent,
  at: DateTime.Utc
): ReadonlyArray<EventDraft> =>
  type !== "login.locked" ? [] : [{
    type: "auth.login.locked",
    subject: userId === undefined ? `address/${address}` : `user/${userId}`,
    severity: "warning",
    time: at,
    data: { user_id: userId ?? null, username: username ?? null, address, failures: Number(detail?.["failures"] ?? 0) }
  }]
