import { type HttpClient } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { Console, Effect, Layer } from "effect"
import { PasswordsArgon2 } from "../../src/layers/PasswordsArgon2.ts"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { callJson } from "../support/client.ts"
import { type Callers } from "../support/testApi.ts"

/** What timing is measured with: the real hash, and room for as many attempts as it takes. */
export const TimingPorts = Layer.merge(
  PasswordsArgon2,
  Layer.effect(
    SignInLimits,
    Effect.map(SignInLimits, (limits) => ({
      ...limits,
      lockout: { ...limits.lockout, max: 1_000_000 },
      address: { ...limits.address, max: 1_000_000 }
    }))
  )
)

const warmUp = 5

/** Share of the samples that is kept: what a busy machine adds to the slowest says nothing. */
const keptShare = 0.9

/** Above this two samples are held to be of different distributions. */
const tMax = 4.5

/** Fewer tries have medians that differ by chance. */
const enoughForMedians = 500

const moments = (all: ReadonlyArray<number>) => {
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length
  const variance = all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (all.length - 1)
  return { mean, error: variance / all.length }
}

/** Welch's t of two samples, without what is slower than most of both together. */
export const croppedT = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  const pooled = [...a, ...b].sort((x, y) => x - y)
  const limit = pooled[Math.floor((pooled.length - 1) * keptShare)]!
  const [one, other] = [moments(a.filter((x) => x <= limit)), moments(b.filter((x) => x <= limit))]
  return (one.mean - other.mean) / Math.sqrt(one.error + other.error)
}

const median = (all: ReadonlyArray<number>) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]!

/** Tries wrong passwords of a known and of an unknown user in turn, each so many times. */
export const signInTiming = (
  name: string,
  layer: Layer.Layer<HttpClient.HttpClient | Callers>,
  tries: number
) =>
  it.effect(
    `known and unknown users can't be told apart by time: ${name}, ${tries} tries of each`,
    () =>
      Effect.gen(function*() {
        const known: Array<number> = []
        const unknown: Array<number> = []
        for (let i = 0; i < tries + warmUp; i++) {
          const order = i % 2 === 0 ? ["viewer", "nobody"] : ["nobody", "viewer"]
          for (const username of order) {
            const started = performance.now()
            const { status } = yield* callJson("POST", "/api/auth/login", { username, password: "wrong" })
            const elapsed = performance.now() - started
            assert.strictEqual(status, 401)
            if (i >= warmUp) (username === "viewer" ? known : unknown).push(elapsed)
          }
        }
        const t = croppedT(known, unknown)
        yield* Console.log(
          `sign-in, ${name}: Welch t ${t.toFixed(2)} over ${tries} tries of each; medians ` +
            `${median(known).toFixed(2)} ms known, ${median(unknown).toFixed(2)} ms unknown`
        )
        assert.isBelow(Math.abs(t), tMax)
        if (tries >= enoughForMedians) assert.isBelow(Math.abs(median(known) / median(unknown) - 1), 0.1)
      }).pipe(Effect.provide(layer)),
    1_800_000
  )
