import { Context, Data, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { User } from "../schema/User.ts"
import { Ids } from "./Ids.ts"
import { IpGuard } from "./IpGuard.ts"
import { Passwords } from "./Passwords.ts"
import { Sessions } from "./Sessions.ts"
import { Users } from "./Users.ts"

export class WrongCredentials extends Data.TaggedError("SignIn/WrongCredentials")<{}> {}
/** The credentials are right, but the user may not sign in from this address. */
export class AddressRefused extends Data.TaggedError("SignIn/AddressRefused")<{}> {}

export interface SignedIn {
  readonly token: Redacted.Redacted
  readonly user: User
  readonly expiresIn: Duration.Duration
}

/** How long a token lives, and how long it may go unused. */
export const sessionLimits = { expiresIn: Duration.hours(1), idle: Duration.minutes(30) }

const prefix = "nop_s_"

const tokenShape = /^nop_[st]_[A-Za-z0-9_-]{43}$/

const sha256 = (token: string): Effect.Effect<string> =>
  Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))).pipe(
    Effect.map((digest) => Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, "0")).join(""))
  )

/** Passwords in, opaque tokens out, tokens back to users. */
export class SignIn extends Context.Tag("services/SignIn")<
  SignIn,
  {
    readonly login: (
      username: string,
      password: Redacted.Redacted,
      address: string | undefined
    ) => Effect.Effect<SignedIn, WrongCredentials | AddressRefused>
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<Option.Option<User>>
  }
>() {}

export const SignInLive = Layer.effect(
  SignIn,
  Effect.gen(function*() {
    const users = yield* Users
    const passwords = yield* Passwords
    const sessions = yield* Sessions
    const ids = yield* Ids
    const guard = yield* IpGuard
    // An unknown user costs the same verification as a known one, against a password that nobody has.
    const nobody = yield* Effect.flatMap(ids.secret, passwords.hash)

    const open = Effect.fn("SignIn.open")(function*(user: User) {
      const secret = yield* ids.secret
      const token = prefix + Redacted.value(secret)
      const now = yield* DateTime.now
      yield* sessions.create({
        id: yield* ids.uuid,
        tokenHash: yield* sha256(token),
        userId: user.id,
        createdAt: now,
        expiresAt: DateTime.addDuration(now, sessionLimits.expiresIn)
      })
      return { token: Redacted.make(token), user, expiresIn: sessionLimits.expiresIn }
    })

    return SignIn.of({
      login: Effect.fn("SignIn.login")(function*(username, password, address) {
        const found = yield* users.findCredentials(username)
        const hash = Option.match(found, { onNone: () => nobody, onSome: (credentials) => credentials.passwordHash })
        const right = yield* passwords.verify(password, hash)
        if (!right || Option.isNone(found) || found.value.user.disabled) return yield* new WrongCredentials()
        if (!(yield* guard.admits(found.value.user.id, address))) return yield* new AddressRefused()
        return yield* open(found.value.user)
      }),
      authenticate: Effect.fnUntraced(function*(token) {
        const text = Redacted.value(token)
        if (!tokenShape.test(text)) return Option.none()
        const now = yield* DateTime.now
        const idleSince = DateTime.subtractDuration(now, sessionLimits.idle)
        return yield* sessions.resolve(yield* sha256(text), { now, idleSince })
      })
    })
  })
)
