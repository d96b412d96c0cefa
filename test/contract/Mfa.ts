import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, type Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { Username } from "../../src/schema/User.ts"
import { MfaChallenges } from "../../src/services/MfaChallenges.ts"
import { MfaFactors } from "../../src/services/MfaFactors.ts"
import { Users } from "../../src/services/Users.ts"

const now = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const at = (seconds: number) => DateTime.add(now, { seconds })

const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return (yield* (yield* Users).create({ username, role: "viewer", passwordHash: Redacted.make("hash") })).id
})

const atOnce = <A>(count: number, effect: Effect.Effect<A>) =>
  Effect.all(Array.from({ length: count }, () => effect), { concurrency: "unbounded" })
const passed = (results: ReadonlyArray<boolean>) => results.filter((result) => result).length

/** What every implementation of `MfaFactors` and `MfaChallenges` keeps. */
export const mfaContract = (
  name: string,
  layer: Layer.Layer<MfaFactors | MfaChallenges | Users>,
  numRuns: number
) =>
  describe(`MfaFactors and MfaChallenges contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "a step is taken once, and none before it afterwards",
        [fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 20 }), fc.integer({ min: 0, max: 4 })],
        ([steps, first]) =>
          Effect.gen(function*() {
            const factors = yield* MfaFactors
            const user = yield* newUser
            assert.isFalse(yield* factors.acceptStep(user, 99))
            assert.isTrue(yield* factors.offer(user, "sealed", now))
            assert.isFalse(yield* factors.acceptStep(user, 99))
            yield* factors.confirm(user, { sealedSecret: "sealed", step: first, recoveryHashes: [] }, now)
            let last = first
            for (const step of steps) {
              assert.strictEqual(yield* factors.acceptStep(user, step), step > last)
              last = Math.max(last, step)
            }
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("the secret on offer is the last one, until it is confirmed", () =>
        Effect.gen(function*() {
          const factors = yield* MfaFactors
          const user = yield* newUser
          const proof = { step: 1, recoveryHashes: ["a", "b"] }
          assert.isTrue(Option.isNone(yield* factors.find(user)))
          yield* factors.offer(user, "one", now)
          yield* factors.offer(user, "two", now)
          assert.isFalse(yield* factors.confirm(user, { sealedSecret: "one", ...proof }, now))
          const confirmed = yield* atOnce(10, factors.confirm(user, { sealedSecret: "two", ...proof }, now))
          assert.strictEqual(passed(confirmed), 1)
          assert.deepStrictEqual(yield* factors.find(user), Option.some({ sealedSecret: "two", confirmed: true }))
          assert.isFalse(yield* factors.offer(user, "three", now))
        }))

      it.effect("of one step, or one recovery code, at once exactly one passes", () =>
        Effect.gen(function*() {
          const factors = yield* MfaFactors
          const [user, other] = [yield* newUser, yield* newUser]
          for (const id of [user, other]) {
            yield* factors.offer(id, "sealed", now)
            yield* factors.confirm(id, { sealedSecret: "sealed", step: 1, recoveryHashes: [`${id}`] }, now)
          }
          assert.strictEqual(passed(yield* atOnce(50, factors.acceptStep(user, 2))), 1)
          assert.isFalse(yield* factors.useRecoveryCode(user, `${other}`, now))
          assert.strictEqual(passed(yield* atOnce(50, factors.useRecoveryCode(user, `${user}`, now))), 1)
          assert.isTrue(yield* factors.remove(user))
          assert.isFalse(yield* factors.remove(user))
          assert.isTrue(yield* factors.useRecoveryCode(other, `${other}`, now))
        }))

      it.effect("a challenge takes so many tries within its time and is consumed once", () =>
        Effect.gen(function*() {
          const challenges = yield* MfaChallenges
          const userId = yield* newUser
          const [tried, late, done] = [randomUUID(), randomUUID(), randomUUID()]
          for (const tokenHash of [tried, late, done]) {
            yield* challenges.create({ tokenHash, userId, expiresAt: at(300) })
          }
          const tries = yield* atOnce(20, challenges.attempt(tried, 5, at(299)))
          assert.lengthOf(tries.filter(Option.isSome), 5)
          assert.deepStrictEqual(tries.find(Option.isSome), Option.some(userId))
          assert.isTrue(Option.isNone(yield* challenges.attempt(late, 5, at(300))))
          assert.strictEqual(passed(yield* atOnce(20, challenges.consume(done))), 1)
          assert.isTrue(Option.isNone(yield* challenges.attempt(done, 5, now)))
          assert.isTrue(Option.isNone(yield* challenges.attempt("unknown", 5, now)))
          yield* challenges.purge(at(300))
          assert.isFalse(yield* challenges.consume(late))
        }))
    })
  })
