import { Clock, Context, Data, DateTime, Effect, Layer, Option, Redacted } from "effect"
import type { User } from "../schema/User.ts"
import { Ids } from "./Ids.ts"
import { LoginGuard, type TooManyAttempts } from "./LoginGuard.ts"
import { MfaFactors } from "./MfaFactors.ts"
import { Secrets } from "./Secrets.ts"
import { SignInEvents } from "./SignInEvents.ts"
import { sha256 } from "./tokens.ts"
import { normalRecoveryCode, recoveryCode, totpSecret, totpStep, totpUri } from "./Totp.ts"

/** The code is wrong, was used before, or there is nothing that it could be for. */
export class MfaProofWrong extends Data.TaggedError("Mfa/ProofWrong")<{}> {}
export class MfaEnrolledAlready extends Data.TaggedError("Mfa/EnrolledAlready")<{}> {}

/** A second factor as it is presented. */
export type MfaProof = { readonly code: string } | { readonly recoveryCode: string }

const recoveryCodes = 10

/** The second factor of users: an authenticator (TOTP, RFC 6238) and recovery codes. */
export class Mfa extends Context.Tag("services/Mfa")<
  Mfa,
  {
    readonly isEnrolled: (user: User) => Effect.Effect<boolean>
    /** Offers a new secret, which counts once it is confirmed; an earlier offer is void. */
    readonly enroll: (
      user: User
    ) => Effect.Effect<{ readonly secret: Redacted.Redacted; readonly uri: string }, MfaEnrolledAlready>
    /** Confirms the secret on offer by a code of it and gives the recovery codes, this once. */
    readonly confirm: (
      user: User,
      code: string,
      address: string
    ) => Effect.Effect<ReadonlyArray<string>, MfaProofWrong>
    /** Uses up a code; wrong ones count towards the lock of the account. */
    readonly prove: (
      user: User,
      proof: MfaProof,
      address: string
    ) => Effect.Effect<void, MfaProofWrong | TooManyAttempts>
    /** Removes the factor, given a fresh code of it. */
    readonly disable: (
      user: User,
      proof: MfaProof,
      address: string
    ) => Effect.Effect<void, MfaProofWrong | TooManyAttempts>
  }
>() {}

const contextOf = (user: User) => `mfa:${user.id}`

const hashOf = (user: User, code: string) => sha256(`${user.id}:${normalRecoveryCode(code)}`)

export const MfaLive = Layer.effect(
  Mfa,
  Effect.gen(function*() {
    const factors = yield* MfaFactors
    const secrets = yield* Secrets
    const guard = yield* LoginGuard
    const events = yield* SignInEvents
    const ids = yield* Ids

    const digest = Effect.flatMap(ids.secret, (secret) => sha256(Redacted.value(secret)))
    const tell = (type: "mfa.enrolled" | "mfa.disabled", user: User, address: string) =>
      events.publish({ type, userId: user.id, username: user.username, address })

    const holds = Effect.fnUntraced(function*(user: User, proof: MfaProof) {
      const now = yield* DateTime.now
      if ("recoveryCode" in proof) {
        return yield* factors.useRecoveryCode(user.id, yield* hashOf(user, proof.recoveryCode), now)
      }
      const factor = Option.getOrUndefined(yield* factors.find(user.id))
      if (factor === undefined || !factor.confirmed) return false
      const secret = yield* secrets.open(factor.sealedSecret, contextOf(user))
      const step = totpStep(secret, proof.code, DateTime.toEpochMillis(now))
      return step === undefined ? false : yield* factors.acceptStep(user.id, step)
    })

    const prove = Effect.fn("Mfa.prove")(function*(user: User, proof: MfaProof, address: string) {
      const { failures } = yield* guard.reserve({ username: user.username, address }, yield* DateTime.now)
      if (!(yield* holds(user, proof))) {
        yield* guard.failed({ username: user.username, userId: user.id, address }, failures)
        return yield* new MfaProofWrong()
      }
      yield* guard.clear(user.username)
    })

    return Mfa.of({
      isEnrolled: (user) => Effect.map(factors.find(user.id), Option.exists(({ confirmed }) => confirmed)),
      enroll: Effect.fn("Mfa.enroll")(function*(user) {
        const secret = totpSecret(yield* digest)
        const sealed = yield* secrets.seal(secret, contextOf(user))
        if (!(yield* factors.offer(user.id, sealed, yield* DateTime.now))) return yield* new MfaEnrolledAlready()
        return { secret, uri: totpUri(secret, user.username) }
      }),
      confirm: Effect.fn("Mfa.confirm")(function*(user, code, address) {
        const factor = Option.getOrUndefined(yield* factors.find(user.id))
        if (factor === undefined || factor.confirmed) return yield* new MfaProofWrong()
        const { sealedSecret } = factor
        const secret = yield* secrets.open(sealedSecret, contextOf(user))
        const step = totpStep(secret, code, yield* Clock.currentTimeMillis)
        if (step === undefined) return yield* new MfaProofWrong()
        const codes = (yield* Effect.replicateEffect(digest, recoveryCodes)).map(recoveryCode)
        const recoveryHashes = yield* Effect.forEach(codes, (code) => hashOf(user, code))
        const confirmed = yield* factors.confirm(user.id, { sealedSecret, step, recoveryHashes }, yield* DateTime.now)
        if (!confirmed) return yield* new MfaProofWrong()
        yield* tell("mfa.enrolled", user, address)
        return codes
      }),
      prove,
      disable: Effect.fn("Mfa.disable")(function*(user, proof, address) {
        yield* prove(user, proof, address)
        if (yield* factors.remove(user.id)) yield* tell("mfa.disabled", user, address)
      })
    })
  })
)
