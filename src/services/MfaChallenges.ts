import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../schema/User.ts"

/** Logins that wait for their second factor, known by the hash of their token. */
export class MfaChallenges extends Context.Tag("services/MfaChallenges")<
  MfaChallenges,
  {
    readonly create: (
      challenge: { readonly tokenHash: string; readonly userId: UserId; readonly expiresAt: DateTime.Utc }
    ) => Effect.Effect<void>
    /** Counts a try and gives the user, unless the challenge is unknown, expired, or was tried `max` times before. */
    readonly attempt: (tokenHash: string, max: number, now: DateTime.Utc) => Effect.Effect<Option.Option<UserId>>
    /** Ends a challenge: of several at once one succeeds. */
    readonly consume: (tokenHash: string) => Effect.Effect<boolean>
    readonly purge: (now: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
