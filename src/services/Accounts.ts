import { Context, Data, DateTime, Effect, Layer, Option, Redacted } from "effect"
import { type ApiToken, type ApiTokenDraft, ApiTokenId } from "../schema/ApiToken.ts"
import type { Permission, Role } from "../schema/Permission.ts"
import type { SessionId } from "../schema/Session.ts"
import type { User, UserId, Username } from "../schema/User.ts"
import { ApiTokens } from "./ApiTokens.ts"
import { Ids } from "./Ids.ts"
import { LoginGuard, type TooManyAttempts } from "./LoginGuard.ts"
import { Passwords } from "./Passwords.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"
import { Sessions } from "./Sessions.ts"
import { type SignInEvent, SignInEvents } from "./SignInEvents.ts"
import { makeToken, sha256 } from "./tokens.ts"
import { type LastAdmin, type UserMissing, type UsernameTaken, Users } from "./Users.ts"

export class CurrentPasswordWrong extends Data.TaggedError("Accounts/CurrentPasswordWrong")<{}> {}
/** Scopes that the owner's role lacks. */
export class ScopesExceedRole extends Data.TaggedError("Accounts/ScopesExceedRole")<{
  readonly scopes: ReadonlyArray<Permission>
}> {}
export class ExpiryPast extends Data.TaggedError("Accounts/ExpiryPast")<{}> {}

export interface UserDraft {
  readonly username: Username
  readonly role: Role
  readonly password: Redacted.Redacted
}
export interface UserChange {
  readonly role?: Role | undefined
  readonly disabled?: boolean | undefined
  readonly password?: Redacted.Redacted | undefined
}

/** Who does something to an account, and from where. */
export interface Actor {
  readonly user: User
  readonly address: string
}

/** Passwords, API tokens and users, as the API changes them. */
export class Accounts extends Context.Tag("services/Accounts")<
  Accounts,
  {
    /** Sets one's own password and ends one's other sessions. */
    readonly changePassword: (
      actor: Actor,
      kept: SessionId,
      passwords: { readonly current: Redacted.Redacted; readonly next: Redacted.Redacted }
    ) => Effect.Effect<void, CurrentPasswordWrong | TooManyAttempts>
    readonly createToken: (
      actor: Actor,
      draft: ApiTokenDraft
    ) => Effect.Effect<{ readonly token: ApiToken; readonly secret: Redacted.Redacted }, ScopesExceedRole | ExpiryPast>
    readonly removeToken: (actor: Actor, id: ApiTokenId) => Effect.Effect<boolean>
    readonly createUser: (actor: Actor, draft: UserDraft) => Effect.Effect<User, UsernameTaken>
    /** Takes effect at once: being disabled or given a new password ends the user's sessions. */
    readonly changeUser: (
      actor: Actor,
      id: UserId,
      change: UserChange,
      expected: Expected
    ) => Effect.Effect<User, UserMissing | LastAdmin | RevisionMismatch>
  }
>() {}

export const AccountsLive = Layer.effect(
  Accounts,
  Effect.gen(function*() {
    const users = yield* Users
    const passwords = yield* Passwords
    const sessions = yield* Sessions
    const tokens = yield* ApiTokens
    const guard = yield* LoginGuard
    const events = yield* SignInEvents
    const ids = yield* Ids

    const tell = (type: SignInEvent["type"], { address, user }: Actor, detail?: SignInEvent["detail"]) =>
      events.publish({ type, userId: user.id, username: user.username, address, detail })

    return Accounts.of({
      changePassword: Effect.fn("Accounts.changePassword")(function*(actor, kept, { current, next }) {
        const { address, user } = actor
        const attempt = { username: user.username, userId: user.id, address }
        const { failures } = yield* guard.reserve(attempt, yield* DateTime.now)
        const found = yield* users.findCredentials(user.username)
        if (Option.isNone(found) || !(yield* passwords.verify(current, found.value.passwordHash))) {
          yield* guard.failed(attempt, failures)
          return yield* new CurrentPasswordWrong()
        }
        yield* guard.release(user.username)
        yield* Effect.orDie(users.setPassword(user.username, yield* passwords.hash(next)))
        yield* sessions.endOthers(user.id, kept)
        yield* tell("password.changed", actor)
      }),
      createToken: Effect.fn("Accounts.createToken")(function*(actor, draft) {
        const now = yield* DateTime.now
        const lacking = draft.scopes.filter((scope) => !actor.user.permissions.includes(scope))
        if (lacking.length > 0) return yield* new ScopesExceedRole({ scopes: lacking })
        const expiresAt = draft.expiresAt ?? null
        if (expiresAt !== null && DateTime.lessThanOrEqualTo(expiresAt, now)) return yield* new ExpiryPast()
        const secret = makeToken("api", yield* ids.secret)
        const token: ApiToken = {
          id: ApiTokenId.make(yield* ids.uuid),
          name: draft.name,
          scopes: [...new Set(draft.scopes)],
          allowedNetworks: draft.allowedNetworks ?? [],
          createdAt: now,
          expiresAt,
          lastUsedAt: null
        }
        yield* tokens.create(token, actor.user.id, yield* sha256(Redacted.value(secret)))
        yield* tell("token.created", actor, { token: token.id })
        return { token, secret }
      }),
      removeToken: Effect.fn("Accounts.removeToken")(function*(actor, id) {
        const removed = yield* tokens.remove(id, actor.user.id)
        if (removed) yield* tell("token.deleted", actor, { token: id })
        return removed
      }),
      createUser: Effect.fn("Accounts.createUser")(function*(actor, { password, role, username }) {
        const user = yield* users.create({ username, role, passwordHash: yield* passwords.hash(password) })
        yield* tell("user.created", actor, { user: user.id, role })
        return user
      }),
      changeUser: Effect.fn("Accounts.changeUser")(function*(actor, id, { disabled, password, role }, expected) {
        const passwordHash = password && (yield* passwords.hash(password))
        const user = yield* users.change(id, { role, disabled, passwordHash }, expected)
        if (user.disabled || password !== undefined) yield* sessions.endAll(id)
        yield* tell("user.updated", actor, {
          user: id,
          role: user.role,
          disabled: user.disabled,
          password: password !== undefined
        })
        return user
      })
    })
  })
)
