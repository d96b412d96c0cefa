import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Either, FastCheck as fc, Layer, Option, Redacted, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { Username } from "../../src/schema/User.ts"
import type { ApiTokens } from "../../src/services/ApiTokens.ts"
import { Authenticator, AuthenticatorLive, type SessionCredential } from "../../src/services/Authenticator.ts"
import { IpGuard } from "../../src/services/IpGuard.ts"
import { LoginGuardLive } from "../../src/services/LoginGuard.ts"
import { Mfa, MfaLive, type MfaProof } from "../../src/services/Mfa.ts"
import type { MfaChallenges } from "../../src/services/MfaChallenges.ts"
import type { MfaFactors } from "../../src/services/MfaFactors.ts"
import { Passwords } from "../../src/services/Passwords.ts"
import type { Sessions } from "../../src/services/Sessions.ts"
import { SignIn, SignInLive } from "../../src/services/SignIn.ts"
import type { SignInAttempts } from "../../src/services/SignInAttempts.ts"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { totpCode } from "../../src/services/Totp.ts"
import { Users } from "../../src/services/Users.ts"
import { SecretsMemory } from "../layers/IdentityMemory.ts"
import { PasswordsMemory } from "../layers/PasswordsMemory.ts"
import { SignInEventsMemory } from "../layers/SignInEventsMemory.ts"

export type IdentityStores = ApiTokens | MfaChallenges | MfaFactors | Sessions | SignInAttempts | Users

const client = { address: "192.0.2.1", userAgent: "test" }
const password = Redacted.make("correct horse battery")
const hours = 3600

const Tools = Layer.mergeAll(IdsCrypto, PasswordsMemory, SecretsMemory, SignInEventsMemory)

const manyAddresses = Layer.effect(
  SignInLimits,
  Effect.map(SignInLimits, (limits) => ({ ...limits, address: { ...limits.address, max: 1_000_000 } }))
)

/** One node over the stores: what it keeps in memory is gone with it. */
export const node = Effect.gen(function*() {
  const rules = Layer.merge(SignInLive, AuthenticatorLive).pipe(
    Layer.provideMerge(MfaLive),
    Layer.provide(LoginGuardLive),
    Layer.provide(manyAddresses),
    Layer.provide(Tools)
  )
  const context = yield* Layer.build(Layer.fresh(rules))
  return {
    signIn: Context.get(context, SignIn),
    authenticator: Context.get(context, Authenticator),
    mfa: Context.get(context, Mfa)
  }
})
type Node = Effect.Effect.Success<typeof node>

/** A new user with that password, and with a second factor. */
export const enrolled = Effect.fnUntraced(function*({ mfa }: Node, withMfa: boolean) {
  const hash = yield* Effect.flatMap(Passwords, (passwords) => passwords.hash(password))
  const users = yield* Users
  const user = yield* users.create({ username: Username.make(randomUUID()), role: "viewer", passwordHash: hash })
  if (!withMfa) return { user, secret: undefined, codes: [] as ReadonlyArray<string> }
  const { secret } = yield* mfa.enroll(user)
  const codes = yield* mfa.confirm(user, totpCode(secret, yield* Clock.currentTimeMillis), client.address)
  return { user, secret, codes }
}, Effect.provide(PasswordsMemory))

const commands = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("login" as const), who: fc.nat(2), right: fc.boolean() }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("verify" as const),
        which: fc.nat(3),
        proof: fc.constantFrom("right", "right", "wrong", "before", "recovery")
      })
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("use", "logout", "refresh"), which: fc.nat(3) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("wait" as const),
        seconds: fc.constantFrom(1, 30, 60, 299, 300, 600, 899, 900, 1740, 1799, 1800, 3600)
      })
    },
    fc.record({ do: fc.constant("restart" as const) })
  ),
  { minLength: 5, maxLength: 60, size: "max" }
)

interface ModelToken {
  readonly token: Redacted.Redacted
  readonly created: number
  expires: number
  seen: number
  dead: boolean
}

const machine = Effect.fnUntraced(function*(all: ReadonlyArray<any>) {
  let current = yield* node
  const withMfa = yield* enrolled(current, true)
  const plain = yield* enrolled(current, false)
  const names = [withMfa.user.username, plain.user.username, randomUUID()]
  const counts: Array<{ failures: number; last: number } | undefined> = [undefined, undefined, undefined]
  const tokens: Array<ModelToken> = []
  const challenges: Array<{ token: Redacted.Redacted; expires: number; tries: number; used: boolean }> = []
  const unusedCodes = [...withMfa.codes]
  let now = (yield* Clock.currentTimeMillis) / 1000
  let lastStep = Math.floor(now / 30)

  const locked = (who: number) => counts[who] !== undefined && counts[who].failures >= 5 && now - counts[who].last < 900
  const reserve = (who: number) => {
    const known = counts[who]
    counts[who] = { failures: known === undefined || now - known.last >= 900 ? 1 : known.failures + 1, last: now }
  }
  const opened = (token: Redacted.Redacted) =>
    tokens.push({ token, created: now, expires: now + hours, seen: now, dead: false })
  const tagOf = (result: Either.Either<{ readonly _tag: string }, { readonly _tag: string }>) =>
    Either.merge(result)._tag

  const login = Effect.fnUntraced(function*(who: number, right: boolean) {
    const result = yield* Effect.either(
      current.signIn.login(names[who]!, right ? password : Redacted.make("wrong"), client)
    )
    if (locked(who)) return assert.strictEqual(tagOf(result), "SignIn/TooManyAttempts")
    reserve(who)
    if (!right || who === 2) return assert.strictEqual(tagOf(result), "SignIn/WrongCredentials")
    const answer = Either.getOrThrow(result)
    if (who === 0) {
      assert.strictEqual(answer._tag, "MfaRequired")
      counts[0]!.failures--
      if (answer._tag === "MfaRequired") {
        challenges.push({ token: answer.mfaToken, expires: now + 300, tries: 0, used: false })
        assert.isTrue(Option.isNone(yield* current.authenticator.authenticate(answer.mfaToken, client.address)))
      }
    } else {
      counts[who] = undefined
      assert.strictEqual(answer._tag, "SignedIn")
      if (answer._tag === "SignedIn") opened(answer.token)
    }
  })

  const verify = Effect.fnUntraced(function*(which: number, kind: string) {
    const challenge = challenges.at(-1 - which)
    if (challenge === undefined) return
    const step = kind === "before" ? lastStep : Math.floor(now / 30)
    const recovery = unusedCodes[0]
    const code = totpCode(withMfa.secret!, step * 30_000)
    const proof: MfaProof = kind === "recovery"
      ? { recoveryCode: (recovery ?? "none").toUpperCase() }
      : { code: kind === "wrong" ? "not it" : code }
    const result = yield* Effect.either(current.signIn.verify(challenge.token, proof, client))
    if (challenge.used || challenge.tries >= 5 || now >= challenge.expires) {
      return assert.strictEqual(tagOf(result), "Mfa/ProofWrong")
    }
    challenge.tries++
    if (locked(0)) return assert.strictEqual(tagOf(result), "SignIn/TooManyAttempts")
    reserve(0)
    const right = kind === "recovery" ? recovery !== undefined : kind === "right" && step > lastStep
    assert.strictEqual(tagOf(result), right ? "SignedIn" : "Mfa/ProofWrong")
    if (Either.isLeft(result)) return
    if (kind === "recovery") unusedCodes.shift()
    else lastStep = step
    counts[0] = undefined
    challenge.used = true
    opened(result.right.token)
  })

  const withToken = Effect.fnUntraced(function*(what: string, which: number) {
    const entry = tokens.at(-1 - which)
    if (entry === undefined) return
    const alive = !entry.dead && now < entry.expires && now - entry.seen < 1800
    const caller = yield* Effect.orDie(current.authenticator.authenticate(entry.token, client.address))
    assert.strictEqual(Option.isSome(caller), alive)
    if (Option.isNone(caller)) return
    if (now - entry.seen >= 60) entry.seen = now
    const { user } = caller.value
    const credential = caller.value.credential as SessionCredential
    if (what === "use") return
    entry.dead = true
    if (what === "logout") return yield* current.authenticator.logout(user, credential, client.address)
    const next = Option.getOrThrow(yield* current.authenticator.refresh(user, credential, client.address))
    const expires = Math.min(now + hours, entry.created + 12 * hours)
    assert.strictEqual(Duration.toSeconds(next.expiresIn), expires - now)
    tokens.push({ ...entry, token: next.token, expires, seen: now, dead: false })
    assert.isTrue(Option.isNone(yield* current.authenticator.refresh(user, credential, client.address)))
  })

  for (const command of all) {
    if (command.do === "login") yield* login(command.who, command.right)
    else if (command.do === "verify") yield* verify(command.which, command.proof)
    else if (command.do === "restart") current = yield* node
    else if (command.do === "wait") {
      yield* TestClock.adjust(Duration.seconds(command.seconds))
      now += command.seconds
    } else yield* withToken(command.do, command.which)
  }
}, Effect.scoped)

const atOnce = <A, E>(count: number, effect: (index: number) => Effect.Effect<A, E>) =>
  Effect.forEach(Array.from({ length: count }, (_, index) => index), (index) => Effect.either(effect(index)), {
    concurrency: "unbounded"
  })

const admitted = () => Effect.succeed(true)
const everyAddress = Layer.succeed(
  IpGuard,
  IpGuard.of({ admits: admitted, stillAdmits: admitted, changed: Effect.void })
)

/** Sign-in over stores against a model of it, by the test's clock. */
export const signInMachine = (name: string, stores: Layer.Layer<IdentityStores>, numRuns: number) =>
  describe(`sign-in over ${name}`, () => {
    it.layer(Layer.merge(stores, everyAddress))((it) => {
      it.effect.prop("answers as the model does, whatever happens", [commands], ([all]) => machine(all), {
        fastCheck: { numRuns }
      })

      it.scoped("a session that is refreshed all the time ends 12 hours after its sign-in", () =>
        Effect.gen(function*() {
          const { authenticator, signIn } = yield* node
          const { user } = yield* enrolled(yield* node, false)
          const result = yield* signIn.login(user.username, password, client)
          if (result._tag !== "SignedIn") return assert.fail("there is no second factor")
          let token = result.token
          for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
            yield* TestClock.adjust("20 minutes")
            const caller = Option.getOrThrow(yield* authenticator.authenticate(token, client.address))
            const credential = caller.credential as SessionCredential
            const next = Option.getOrThrow(yield* authenticator.refresh(user, credential, client.address))
            assert.strictEqual(Duration.toMinutes(next.expiresIn), Math.min(60, 12 * 60 - minutes))
            token = next.token
          }
          yield* TestClock.adjust(Duration.millis(20 * 60_000 - 1))
          assert.isTrue(Option.isSome(yield* authenticator.authenticate(token, client.address)))
          yield* TestClock.adjust("1 millis")
          assert.isTrue(Option.isNone(yield* authenticator.authenticate(token, client.address)))
        }))

      it.scoped("of 50 tries of one code at once, each with a challenge of its own, exactly one passes", () =>
        Effect.gen(function*() {
          const { signIn } = yield* node
          const { secret, user } = yield* enrolled(yield* node, true)
          yield* TestClock.adjust("1 minutes")
          const challenges = yield* Effect.replicateEffect(signIn.login(user.username, password, client), 50)
          const code = totpCode(secret!, yield* Clock.currentTimeMillis)
          const results = yield* atOnce(50, (index) => {
            const challenge = challenges[index]!
            return challenge._tag === "MfaRequired"
              ? signIn.verify(challenge.mfaToken, { code }, client)
              : Effect.dieMessage("no challenge")
          })
          assert.lengthOf(results.filter(Either.isRight), 1)
        }))

      it.scoped("of 20 wrong logins at once five are judged and the rest refused, on two nodes, known or not", () =>
        Effect.gen(function*() {
          const nodes = [yield* node, yield* node]
          const { user } = yield* enrolled(nodes[0]!, false)
          for (const name of [user.username, randomUUID()]) {
            const results = yield* atOnce(
              20,
              (index) => nodes[index % 2]!.signIn.login(name, Redacted.make("wrong"), client)
            )
            const tags = results.map((result) => Either.merge(result)._tag)
            assert.lengthOf(tags.filter((tag) => tag === "SignIn/WrongCredentials"), 5)
            assert.lengthOf(tags.filter((tag) => tag === "SignIn/TooManyAttempts"), 15)
          }
          const right = yield* Effect.flip(nodes[1]!.signIn.login(user.username, password, client))
          assert.deepInclude(right, { _tag: "SignIn/TooManyAttempts", retryAfter: Duration.minutes(15) })
        }))
    })
  })
