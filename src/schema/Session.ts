import { Schema } from "effect"

export const SessionId = Schema.UUID.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** A sign-in that a token keeps alive; refreshing it changes the token and `expiresAt`, not the rest. */
export const Session = Schema.Struct({
  id: SessionId,
  createdAt: Schema.DateTimeUtc,
  lastSeenAt: Schema.DateTimeUtc.annotations({ description: "to the minute" }),
  expiresAt: Schema.DateTimeUtc,
  address: Schema.String.annotations({ description: "client address at sign-in" }),
  userAgent: Schema.String.annotations({ description: "User-Agent at sign-in, `\"\"` where none was sent" })
})
export type Session = typeof Session.Type
