import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, FastCheck as fc, type Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { SignInAttempts } from "../../src/services/SignInAttempts.ts"

const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const at = (second: number) => DateTime.add(start, { seconds: second })
const quota = { max: 5, window: Duration.seconds(900) }
const perMinute = { max: 10, window: Duration.seconds(60) }

const gaps = fc.oneof(fc.constantFrom(0, 1, 59, 60, 61, 899, 900, 901), fc.integer({ min: 0, max: 1000 }))
const steps = fc.array(
  fc.record({ gap: gaps, step: fc.constantFrom("reserve", "reserve", "reserve", "release", "clear") })
)

/** What every implementation of `SignInAttempts` keeps. */
export const signInAttemptsContract = (name: string, layer: Layer.Layer<SignInAttempts>, numRuns: number) =>
  describe(`SignInAttempts contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "an account is locked after max failures, until the window after the last",
        [steps],
        ([all]) =>
          Effect.gen(function*() {
            const attempts = yield* SignInAttempts
            const account = randomUUID()
            let now = 0
            let model: { failures: number; last: number } | undefined
            for (const { gap, step } of all) {
              now += gap
              if (step === "release") {
                yield* attempts.release(account)
                if (model !== undefined && model.failures > 0) model.failures--
              } else if (step === "clear") {
                yield* attempts.clear(account)
                model = undefined
              } else {
                const result = yield* attempts.reserve(account, quota, at(now))
                const old: boolean = model === undefined || now - model.last >= 900
                if (!old && model!.failures >= 5) {
                  assert.deepStrictEqual(result, {
                    _tag: "Locked",
                    retryAfter: Duration.seconds(Math.max(1, model!.last + 900 - now))
                  })
                } else {
                  model = { failures: old ? 1 : model!.failures + 1, last: now }
                  assert.deepStrictEqual(result, { _tag: "Admitted", failures: model.failures })
                }
              }
            }
          }),
        { fastCheck: { numRuns } }
      )

      it.effect.prop(
        "within no window more than max attempts of an address are admitted, and a refused one isn't counted",
        [fc.array(fc.oneof(fc.constantFrom(0, 1, 6, 59, 60), fc.integer({ min: 0, max: 70 })), { maxLength: 40 })],
        ([all]) =>
          Effect.gen(function*() {
            const attempts = yield* SignInAttempts
            const address = randomUUID()
            const admitted: Array<number> = []
            let now = 0
            for (const gap of all) {
              now += gap
              const wait = yield* attempts.admit(address, perMinute, at(now))
              const within = admitted.filter((moment) => moment > now - 60)
              if (within.length < 10) {
                assert.isTrue(Option.isNone(wait))
                admitted.push(now)
              } else assert.deepStrictEqual(wait, Option.some(Duration.seconds(within.at(-10)! + 60 - now)))
            }
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("of attempts at once exactly max are admitted", () =>
        Effect.gen(function*() {
          const attempts = yield* SignInAttempts
          const [account, address] = [randomUUID(), randomUUID()]
          const many = <A>(effect: Effect.Effect<A>) =>
            Effect.all(Array.from({ length: 30 }, () => effect), { concurrency: "unbounded" })
          const reserved = yield* many(attempts.reserve(account, quota, start))
          const failures = reserved.flatMap((result) => result._tag === "Admitted" ? [result.failures] : [])
          assert.sameMembers(failures, [1, 2, 3, 4, 5])
          const waits = yield* many(attempts.admit(address, perMinute, start))
          assert.lengthOf(waits.filter(Option.isNone), 10)
        }))

      it.effect("what matters still is not purged", () =>
        Effect.gen(function*() {
          const attempts = yield* SignInAttempts
          const account = randomUUID()
          for (let i = 0; i < 5; i++) yield* attempts.reserve(account, quota, at(10))
          yield* attempts.purge(at(9))
          assert.strictEqual((yield* attempts.reserve(account, quota, at(11)))._tag, "Locked")
          yield* attempts.purge(at(10))
          assert.strictEqual((yield* attempts.reserve(account, quota, at(11)))._tag, "Admitted")
        }))
    })
  })
