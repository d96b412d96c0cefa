import { DateTime, Duration, Effect, Layer, Option } from "effect"
import type { Session } from "../../src/schema/Session.ts"
import type { UserId } from "../../src/schema/User.ts"
import { type Moment, Sessions } from "../../src/services/Sessions.ts"
import { pageNewest } from "./IdentityMemory.ts"
import { UsersState, UsersStateMemory } from "./UsersMemory.ts"

interface Entry {
  session: Session
  readonly userId: UserId
}

const alive = ({ session }: Entry, { idleSince, now }: Moment) =>
  DateTime.greaterThan(session.expiresAt, now) && DateTime.greaterThan(session.lastSeenAt, idleSince)

/** Sessions of the users of `UsersMemory`. */
export const SessionsMemory = Layer.effect(
  Sessions,
  Effect.map(UsersState, (accounts) => {
    const sessions = new Map<string, Entry>()
    const remove = (doomed: (entry: Entry) => boolean) => {
      const gone = [...sessions].filter(([, entry]) => doomed(entry))
      for (const [tokenHash] of gone) sessions.delete(tokenHash)
      return gone.length > 0
    }
    return Sessions.of({
      create: ({ tokenHash, userId, ...session }) =>
        Effect.sync(() =>
          void sessions.set(tokenHash, { userId, session: { ...session, lastSeenAt: session.createdAt } })
        ),
      resolve: (tokenHash, at) =>
        Effect.sync(() => {
          const entry = sessions.get(tokenHash)
          if (entry === undefined || !alive(entry, at)) return Option.none()
          const found = [...accounts.values()].find(({ user }) => user.id === entry.userId)
          if (found === undefined || found.user.disabled) return Option.none()
          const { session } = entry
          const unused = DateTime.distance(session.lastSeenAt, at.now)
          if (unused >= Duration.toMillis(Duration.minutes(1))) entry.session = { ...session, lastSeenAt: at.now }
          return Option.some({ session, user: found.user })
        }),
      alive: (ids, at) =>
        Effect.sync(() =>
          [...sessions.values()].filter((entry) => {
            const account = [...accounts.values()].find(({ user }) => user.id === entry.userId)
            return ids.includes(entry.session.id) && alive(entry, at) && account?.user.disabled === false
          }).map(({ session }) => session.id)
        ),
      renew: (tokenHash, next, at) =>
        Effect.sync(() => {
          const entry = sessions.get(tokenHash)
          if (entry === undefined || !alive(entry, at)) return false
          const lastSeenAt = DateTime.max(entry.session.lastSeenAt, at.now)
          sessions.delete(tokenHash)
          sessions.set(next.tokenHash, {
            ...entry,
            session: { ...entry.session, expiresAt: next.expiresAt, lastSeenAt }
          })
          return true
        }),
      list: (userId, at, page) =>
        pageNewest(
          [...sessions.values()].filter((entry) => entry.userId === userId && alive(entry, at)).map(({ session }) =>
            session
          ),
          page
        ),
      end: (id, userId) => Effect.sync(() => remove((entry) => entry.session.id === id && entry.userId === userId)),
      endOthers: (userId, kept) =>
        Effect.sync(() => void remove((entry) => entry.userId === userId && entry.session.id !== kept)),
      endAll: (userId) => Effect.sync(() => void remove((entry) => entry.userId === userId)),
      purge: (at) => Effect.sync(() => void remove((entry) => !alive(entry, at)))
    })
  })
).pipe(Layer.provide(UsersStateMemory))
