import { Context, DateTime, Effect, Layer, Option, type Redacted } from "effect"
import { afterIdOf, pageById } from "../../src/schema/Page.ts"
import { User, UserId, type Username } from "../../src/schema/User.ts"
import { isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { LastAdmin, type NewUser, UserMissing, UsernameTaken, Users } from "../../src/services/Users.ts"

interface Account {
  readonly user: User
  readonly passwordHash: Redacted.Redacted
}

/** The accounts by lower-case username, for the layers that share them. */
export class UsersState extends Context.Tag("test/UsersState")<UsersState, Map<string, Account>>() {}

/** One set of accounts for all layers that are built together. */
export const UsersStateMemory = Layer.sync(UsersState, () => new Map())

/** Disables a user, or enables it again. */
export const setDisabled = (username: Username, disabled: boolean) =>
  Effect.map(UsersState, (accounts) => {
    const key = username.toLowerCase()
    const account = accounts.get(key)!
    accounts.set(key, { ...account, user: new User({ ...account.user, disabled }) })
  })

export const UsersMemory = Layer.effect(
  Users,
  Effect.map(UsersState, (accounts) => {
    const insert = ({ passwordHash, role, username }: NewUser) =>
      Effect.map(DateTime.now, (created_at) => {
        const id = UserId.make(accounts.size + 1)
        const user = new User({ id, username, role, disabled: false, created_at, revision: 1 })
        accounts.set(username.toLowerCase(), { user, passwordHash })
        return user
      })
    const list = () => [...accounts.values()].map(({ user }) => user)

    return Users.of({
      create: (user) =>
        Effect.suspend(() =>
          accounts.has(user.username.toLowerCase())
            ? Effect.fail(new UsernameTaken({ username: user.username }))
            : insert(user)
        ),
      createFirst: (user) => Effect.suspend(() => accounts.size > 0 ? Effect.succeedNone : Effect.asSome(insert(user))),
      count: Effect.sync(() => accounts.size),
      list: Effect.sync(list),
      page: ({ cursor, limit }) =>
        Effect.map(afterIdOf(cursor), (after) => {
          const rest = list().filter(({ id }) => id > after).sort((a, b) => a.id - b.id)
          return pageById(rest.slice(0, limit + 1), limit, accounts.size)
        }),
      change: (id, { disabled, passwordHash, role }, expected) =>
        Effect.suspend((): Effect.Effect<User, UserMissing | LastAdmin | RevisionMismatch> => {
          const found = [...accounts].find(([, { user }]) => user.id === id)
          if (found === undefined) return new UserMissing({ user: id })
          const [key, account] = found
          const { revision } = account.user
          if (!isExpected(expected, revision)) return new RevisionMismatch({ revision })
          const user = new User({
            ...account.user,
            role: role ?? account.user.role,
            disabled: disabled ?? account.user.disabled,
            revision: revision + 1
          })
          const isAdmin = (user: User) => user.role === "admin" && !user.disabled
          const others = list().some((other) => other.id !== id && isAdmin(other))
          if (isAdmin(account.user) && !isAdmin(user) && !others) return new LastAdmin()
          accounts.set(key, { user, passwordHash: passwordHash ?? account.passwordHash })
          return Effect.succeed(user)
        }),
      get: (id) => Effect.sync(() => Option.fromNullable(list().find((user) => user.id === id))),
      findCredentials: (username) => Effect.sync(() => Option.fromNullable(accounts.get(username.toLowerCase()))),
      setPassword: (username, passwordHash) =>
        Effect.suspend(() => {
          const account = accounts.get(username.toLowerCase())
          if (account === undefined) return Effect.fail(new UserMissing({ user: username }))
          const user = new User({ ...account.user, revision: account.user.revision + 1 })
          accounts.set(username.toLowerCase(), { user, passwordHash })
          return Effect.succeed(user)
        })
    })
  })
).pipe(Layer.provideMerge(UsersStateMemory))
