import { Context, Data, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { SessionId } from "../schema/Session.ts"
import type { User } from "../schema/User.ts"
import { Ids } from "./Ids.ts"
import { IpGuard } from "./IpGuard.ts"
import { LoginGuard, type TooManyAttempts } from "./LoginGuard.ts"
import { Mfa, type MfaProof, MfaProofWrong } from "./Mfa.ts"
import { MfaChallenges } from "./MfaChallenges.ts"
import { Passwords } from "./Passwords.ts"
import { Sessions } from "./Sessions.ts"
import { SignInEvents } from "./SignInEvents.ts"
import { challengeLimits, SignInLimits } from "./SignInLimits.ts"
import { isToken, makeToken, sha256 } from "./tokens.ts"
import { Users } from "./Users.ts"

/** The credentials are right, but the user may not sign in from this address. */
export class AddressRefused extends Data.TaggedError("SignIn/AddressRefused")<{}> {}

export class WrongCredentials extends Data.TaggedError("SignIn/WrongCredentials")<{}> {}

/** From where somebody signs in. */
export interface Client {
  /** Canonical address. */
  readonly address: string
  readonly userAgent: string
}

export interface SignedIn {
  readonly _tag: "SignedIn"
  readonly token: Redacted.Redacted
  readonly user: User
  readonly expiresIn: Duration.Duration
}

/** A right password of a user who has a second factor: the token opens `verify` and nothing else. */
export interface MfaRequired {
  readonly _tag: "MfaRequired"
  readonly mfaToken: Redacted.Redacted
  readonly expiresIn: Duration.Duration
}

/** Passwords and codes in, opaque tokens out. */
export class SignIn extends Context.Tag("services/SignIn")<
  SignIn,
  {
    readonly login: (
      username: string,
      password: Redacted.Redacted,
      client: Client
    ) => Effect.Effect<SignedIn | MfaRequired, WrongCredentials | AddressRefused | TooManyAttempts>
    /** Completes a login that waits for its second factor. */
    readonly verify: (
      mfaToken: Redacted.Redacted,
      proof: MfaProof,
      client: Client
    ) => Effect.Effect<SignedIn, MfaProofWrong | TooManyAttempts>
  }
>() {}

export const SignInLive = Layer.effect(
  SignIn,
  Effect.gen(function*() {
    const users = yield* Users
    const passwords = yield* Passwords
    const sessions = yield* Sessions
    const challenges = yield* MfaChallenges
    const mfa = yield* Mfa
    const guard = yield* LoginGuard
    const events = yield* SignInEvents
    const limits = yield* SignInLimits
    const addresses = yield* IpGuard
    const ids = yield* Ids
    // An unknown user costs the same verification as a known one, against a password that nobody has.
    const nobody = yield* Effect.flatMap(ids.secret, passwords.hash)

    const expiresIn = Duration.min(limits.session.expiresIn, limits.session.absolute)

    const tell = (
      type: "login.succeeded" | "login.failed" | "login.refused" | "login.mfa_required" | "mfa.failed",
      client: Client
    ) =>
    (user: User | undefined) =>
      events.publish({ type, userId: user?.id, username: user?.username, address: client.address })

    const open = Effect.fn("SignIn.open")(function*(user: User, client: Client) {
      const token = makeToken("session", yield* ids.secret)
      const now = yield* DateTime.now
      yield* sessions.create({
        id: SessionId.make(yield* ids.uuid),
        tokenHash: yield* sha256(Redacted.value(token)),
        userId: user.id,
        createdAt: now,
        expiresAt: DateTime.addDuration(now, expiresIn),
        ...client
      })
      yield* tell("login.succeeded", client)(user)
      return { _tag: "SignedIn", token, user, expiresIn } as const
    })

    const challenge = Effect.fn("SignIn.challenge")(function*(user: User, client: Client) {
      const mfaToken = makeToken("mfa", yield* ids.secret)
      const expiresAt = DateTime.addDuration(yield* DateTime.now, challengeLimits.expiresIn)
      yield* challenges.create({ tokenHash: yield* sha256(Redacted.value(mfaToken)), userId: user.id, expiresAt })
      yield* tell("login.mfa_required", client)(user)
      return { _tag: "MfaRequired", mfaToken, expiresIn: challengeLimits.expiresIn } as const
    })

    return SignIn.of({
      login: Effect.fn("SignIn.login")(function*(username, password, client) {
        const now = yield* DateTime.now
        yield* guard.admitAddress(client.address, now)
        const { failures } = yield* guard.reserve({ username, address: client.address }, now)
        const found = Option.getOrUndefined(yield* users.findCredentials(username))
        const right = yield* passwords.verify(password, found?.passwordHash ?? nobody)
        if (!right || found === undefined || found.user.disabled) {
          yield* tell("login.failed", client)(found?.user)
          yield* guard.failed({ username, userId: found?.user.id, address: client.address }, failures)
          return yield* new WrongCredentials()
        }
        if (!(yield* addresses.admits(found.user.id, client.address))) {
          yield* guard.release(username)
          yield* tell("login.refused", client)(found.user)
          return yield* new AddressRefused()
        }
        if (yield* mfa.isEnrolled(found.user)) {
          // The password alone proves nothing yet: it takes its own reservation back and forgives no wrong code.
          yield* guard.release(username)
          return yield* challenge(found.user, client)
        }
        yield* guard.clear(username)
        return yield* open(found.user, client)
      }),
      verify: Effect.fn("SignIn.verify")(function*(mfaToken, proof, client) {
        if (!isToken("mfa", Redacted.value(mfaToken))) return yield* new MfaProofWrong()
        const now = yield* DateTime.now
        const tokenHash = yield* sha256(Redacted.value(mfaToken))
        const userId = yield* challenges.attempt(tokenHash, challengeLimits.tries, now)
        if (Option.isNone(userId)) return yield* new MfaProofWrong()
        const user = Option.getOrUndefined(yield* users.get(userId.value))
        if (user === undefined || user.disabled) return yield* new MfaProofWrong()
        yield* mfa.prove(user, proof, client.address).pipe(
          Effect.tapErrorTag("Mfa/ProofWrong", () => tell("mfa.failed", client)(user))
        )
        if (!(yield* addresses.admits(user.id, client.address))) {
          yield* tell("login.refused", client)(user)
          return yield* new MfaProofWrong()
        }
        if (!(yield* challenges.consume(tokenHash))) return yield* new MfaProofWrong()
        return yield* open(user, client)
      })
    })
  })
)
