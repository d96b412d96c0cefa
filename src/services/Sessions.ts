import { Context, type DateTime, type Effect, type Option } from "effect"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { Session, SessionId } from "../schema/Session.ts"
import type { User, UserId } from "../schema/User.ts"

export interface NewSession {
  readonly id: SessionId
  /** SHA-256 of the token in hex: the token itself is stored nowhere. */
  readonly tokenHash: string
  readonly userId: UserId
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
  /** Canonical address of the client that signed in. */
  readonly address: string
  /** What the client called itself, "" where it did not. */
  readonly userAgent: string
}

/** The moment of a request, and since when a session must have been used to be alive in it. */
export interface Moment {
  readonly now: DateTime.Utc
  readonly idleSince: DateTime.Utc
}

/** A live session with its user. */
export interface LiveSession {
  readonly session: Session
  readonly user: User
}

/** Who is signed in, known by the hash of the token. */
export class Sessions extends Context.Tag("services/Sessions")<
  Sessions,
  {
    readonly create: (session: NewSession) => Effect.Effect<void>
    /**
     * The session that has neither expired nor been unused since `idleSince`, of a user who isn't disabled; records
     * the use (to the minute, so that reading does not mean writing). One round trip.
     */
    readonly resolve: (tokenHash: string, at: Moment) => Effect.Effect<Option.Option<LiveSession>>
    /** Those of the sessions that `resolve` would find; records no use. One round trip. */
    readonly alive: (ids: ReadonlyArray<SessionId>, at: Moment) => Effect.Effect<ReadonlyArray<SessionId>>
    /** Gives a live session another token, the old one being dead from then on; of several at once one succeeds. */
    readonly renew: (
      tokenHash: string,
      next: { readonly tokenHash: string; readonly expiresAt: DateTime.Utc },
      at: Moment
    ) => Effect.Effect<boolean>
    /** Live sessions of the user, newest first. */
    readonly list: (userId: UserId, at: Moment, page: PageRequest) => Effect.Effect<Page<Session>, InvalidCursor>
    /** Ends one session of the user; false where the user has no such session. */
    readonly end: (id: SessionId, userId: UserId) => Effect.Effect<boolean>
    /** Ends every session of the user but the one named. */
    readonly endOthers: (userId: UserId, kept: SessionId) => Effect.Effect<void>
    /** Ends every session of the user. */
    readonly endAll: (userId: UserId) => Effect.Effect<void>
    /** Forgets the sessions that can't be used any more. */
    readonly purge: (at: Moment) => Effect.Effect<void>
  }
>() {}
