import { assert, describe, it, layer } from "@effect/vitest"
import { Duration, Effect, FastCheck as fc, Layer, Option, Redacted, Ref, TestClock } from "effect"
import { Username } from "../../src/schema/User.ts"
import { Authenticator, AuthenticatorLive } from "../../src/services/Authenticator.ts"
import { IpGuardLive } from "../../src/services/IpGuard.ts"
import { LoginGuardLive } from "../../src/services/LoginGuard.ts"
import { MfaLive } from "../../src/services/Mfa.ts"
import { Passwords } from "../../src/services/Passwords.ts"
import { Sessions } from "../../src/services/Sessions.ts"
import { SignIn, SignInLive } from "../../src/services/SignIn.ts"
import { PasswordsMemory } from "../layers/PasswordsMemory.ts"
import { SignInEventsMemory } from "../layers/SignInEventsMemory.ts"
import { setDisabled } from "../layers/UsersMemory.ts"
import { call, callJson } from "../support/client.ts"
import { createUser, MemoryPorts, passwordOf, testApi } from "../support/testApi.ts"

/** Without what wakes up by itself, so that a test's clock goes far in one step. */
const Rules = Layer.merge(SignInLive, AuthenticatorLive).pipe(
  Layer.provide(MfaLive),
  Layer.provide(LoginGuardLive),
  Layer.provide(IpGuardLive),
  Layer.provide(SignInEventsMemory),
  Layer.provideMerge(MemoryPorts)
)

const right = Redacted.make(passwordOf("viewer"))
const login = (username: string, password = right) =>
  Effect.flatMap(SignIn, (signIn) => signIn.login(username, password, { address: "192.0.2.1", userAgent: "" })).pipe(
    Effect.flatMap((result) =>
      result._tag === "SignedIn" ? Effect.succeed(result) : Effect.dieMessage("nobody here has a second factor")
    )
  )
const authenticate = (token: Redacted.Redacted) =>
  Effect.flatMap(Authenticator, (authenticator) => authenticator.authenticate(token, "192.0.2.1")).pipe(
    Effect.map(Option.map(({ user }) => user))
  )

/** Passwords that say how often they were verified, and against which hashes. */
const counted = Effect.map(Ref.make<ReadonlyArray<string>>([]), (verified) => ({
  verified,
  layer: Layer.effect(
    Passwords,
    Effect.map(Passwords, (passwords) =>
      Passwords.of({
        hash: passwords.hash,
        verify: (password, hash) =>
          Effect.zipRight(
            Ref.update(verified, (all) => [...all, Redacted.value(hash)]),
            passwords.verify(password, hash)
          )
      }))
  ).pipe(Layer.provide(PasswordsMemory))
}))

describe("signing in", () => {
  it.effect("gives tokens that stand for the user until they expire", () =>
    Effect.gen(function*() {
      const user = yield* createUser("Ada", "viewer")
      const first = yield* login("ada")
      const second = yield* login("ADA")
      assert.notStrictEqual(Redacted.value(first.token), Redacted.value(second.token))
      assert.match(Redacted.value(first.token), /^nop_s_[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(first.user, user)
      assert.deepStrictEqual(first.expiresIn, Duration.hours(1))
      for (const { token } of [first, second]) assert.deepStrictEqual(yield* authenticate(token), Option.some(user))
      yield* TestClock.adjust("30 minutes")
      assert.isTrue(Option.isNone(yield* authenticate(first.token)))
    }).pipe(Effect.provide(Rules)))

  it.effect("tells nobody which of the two was wrong", () =>
    Effect.gen(function*() {
      yield* createUser("ada", "viewer")
      const wrong = yield* Effect.flip(login("ada", Redacted.make("wrong")))
      assert.deepStrictEqual(yield* Effect.flip(login("bob")), wrong)
      yield* setDisabled(Username.make("ada"), true)
      assert.deepStrictEqual(yield* Effect.flip(login("ada")), wrong)
      yield* setDisabled(Username.make("ada"), false)
      assert.strictEqual((yield* login("ada")).user.username, "ada")
    }).pipe(Effect.provide(Rules)))

  it.effect("ends with the user", () =>
    Effect.gen(function*() {
      const user = yield* createUser("ada", "viewer")
      const { token } = yield* login("ada")
      yield* setDisabled(Username.make("ada"), true)
      assert.isTrue(Option.isNone(yield* authenticate(token)))
      yield* setDisabled(Username.make("ada"), false)
      assert.isTrue(Option.isSome(yield* authenticate(token)))
      yield* (yield* Sessions).endAll(user.id)
      assert.isTrue(Option.isNone(yield* authenticate(token)))
    }).pipe(Effect.provide(Rules)))

  it.effect("verifies exactly one password, and answers alike, for known and unknown users", () =>
    Effect.gen(function*() {
      const { layer: passwords, verified } = yield* counted
      yield* Effect.gen(function*() {
        const outcomes = []
        for (const username of ["viewer", "nobody", "", "VIEWER", "x".repeat(64)]) {
          yield* Ref.set(verified, [])
          const answer = yield* callJson("POST", "/api/auth/login", { username, password: "wrong" })
          assert.strictEqual((yield* Ref.get(verified)).length, 1, username)
          assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
          const { instance: _, requestId: __, ...body } = answer.json
          outcomes.push({ status: answer.status, body, headers: Object.keys(answer.headers).sort() })
        }
        for (const outcome of outcomes) assert.deepStrictEqual(outcome, outcomes[0])
        assert.strictEqual(outcomes[0]!.status, 401)
        assert.strictEqual(outcomes[0]!.body.type, "/problems/invalid-credentials")
      }).pipe(Effect.provide(testApi(passwords)))
    }))

  it.effect("answers the login result of exactly these keys", () =>
    Effect.gen(function*() {
      const { json } = yield* callJson("POST", "/api/auth/login", {
        username: "auditor",
        password: passwordOf("auditor")
      })
      assert.hasAllKeys(json, ["token", "user", "expiresIn"])
      assert.hasAllKeys(json.user, ["id", "username", "role", "permissions"])
      assert.isTrue(Number.isInteger(json.user.id))
      assert.strictEqual(json.expiresIn, 3600)
      const me = yield* call("GET", "/api/auth/me", { token: Redacted.make(json.token) })
      assert.deepStrictEqual(me.json, json.user)
    }).pipe(Effect.provide(testApi())))
})

layer(Rules)("a token", (it) => {
  it.effect.prop("takes no other text for a token", {
    text: fc.oneof(fc.string(), fc.stringMatching(/^nop_[st]_[A-Za-z0-9_-]{43}$/))
  }, ({ text }) =>
    Effect.gen(function*() {
      assert.isTrue(Option.isNone(yield* authenticate(Redacted.make(text))))
    }), { fastCheck: { numRuns: 50 } })
})
