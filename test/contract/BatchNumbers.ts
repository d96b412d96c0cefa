import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { BatchNumbers } from "../../src/services/DhcpEvents.ts"

/** What every implementation of `BatchNumbers` keeps. */
export const batchNumbersContract = (name: string, layer: Layer.Layer<BatchNumbers>) =>
  describe(`BatchNumbers contract: ${name}`, () => {
    it.effect("numbers rise, and none is given twice to those who ask at once", () =>
      Effect.gen(function*() {
        const { next } = yield* BatchNumbers
        const first = yield* next
        const parallel = yield* Effect.all(Array.from({ length: 100 }, () => next), { concurrency: "unbounded" })
        const last = yield* next
        assert.isAbove(first, 0)
        assert.strictEqual(new Set(parallel).size, parallel.length)
        for (const number of parallel) assert.isTrue(Number.isSafeInteger(number) && first < number && number < last)
      }).pipe(Effect.provide(layer)))
  })
