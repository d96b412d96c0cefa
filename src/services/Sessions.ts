import { Context, type DateTime, type Effect, type Option } from "effect"
import type { User, UserId } from "../schema/User.ts"

export interface NewSession {
  readonly id: string
  /** SHA-256 of the token in hex: the token itself is stored nowhere. */
  readonly tokenHash: string
  readonly userId: UserId
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
}

/** Who is signed in, known by the hash of the token. */
export class Sessions extends Context.Tag("services/Sessions")<
  Sessions,
  {
    readonly create: (session: NewSession) => Effect.Effect<void>
    /**
     * The user of a session that has neither expired nor been unused since `idleSince`, and isn't disabled; records
     * the use (to the minute, so that reading does not mean writing).
     */
    readonly resolve: (
      tokenHash: string,
      at: { readonly now: DateTime.Utc; readonly idleSince: DateTime.Utc }
    ) => Effect.Effect<Option.Option<User>>
    /** Ends every session of the user. */
    readonly endAll: (userId: UserId) => Effect.Effect<void>
  }
>() {}
