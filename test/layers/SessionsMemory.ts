import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { type NewSession, Sessions } from "../../src/services/Sessions.ts"
import { UsersState, UsersStateMemory } from "./UsersMemory.ts"

/** Sessions of the users of `UsersMemory`. */
export const SessionsMemory = Layer.effect(
  Sessions,
  Effect.map(UsersState, (accounts) => {
    const sessions = new Map<string, { readonly session: NewSession; lastSeenAt: DateTime.Utc }>()
    return Sessions.of({
      create: (session) =>
        Effect.sync(() => void sessions.set(session.tokenHash, { session, lastSeenAt: session.createdAt })),
      resolve: (tokenHash, { idleSince, now }) =>
        Effect.sync(() => {
          const entry = sessions.get(tokenHash)
          if (
            entry === undefined || DateTime.lessThanOrEqualTo(entry.session.expiresAt, now) ||
            DateTime.lessThanOrEqualTo(entry.lastSeenAt, idleSince)
          ) return Option.none()
          const found = [...accounts.values()].find(({ user }) => user.id === entry.session.userId)
          if (found === undefined || found.user.disabled) return Option.none()
          if (Duration.greaterThanOrEqualTo(DateTime.distanceDuration(entry.lastSeenAt, now), Duration.minutes(1))) {
            entry.lastSeenAt = DateTime.max(entry.lastSeenAt, now)
          }
          return Option.some(found.user)
        }),
      endAll: (userId) =>
        Effect.sync(() => {
          for (const [tokenHash, { session }] of sessions) if (session.userId === userId) sessions.delete(tokenHash)
        })
    })
  })
).pipe(Layer.provide(UsersStateMemory))
