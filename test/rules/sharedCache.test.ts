import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import { makeSharedCache } from "../../src/services/SharedCache.ts"

const setting = Effect.gen(function*() {
  const cache = yield* makeSharedCache<number, string>(3)
  const gate = yield* Deferred.make<void>()
  const seen = { begun: 0, interrupted: 0 }
  const slow = Effect.suspend(() => {
    seen.begun += 1
    return Effect.as(Deferred.await(gate), seen.begun)
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => void (seen.interrupted += 1))))
  const get = (key: string) => cache.get(key, slow, () => 1000)
  return { cache, gate, seen, get }
})

describe("a shared cache", () => {
  it.scoped("computes once for all who ask at the same time, and keeps it for its time", () =>
    Effect.gen(function*() {
      const { gate, get, seen } = yield* setting
      const fibers = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.fork(get("a")))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers) assert.deepStrictEqual(yield* Fiber.join(fiber), { value: 1, hit: false })
      assert.deepStrictEqual(yield* get("a"), { value: 1, hit: true })
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(yield* get("a"), { value: 1, hit: true })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* get("a"), { value: 2, hit: false })
      assert.strictEqual(seen.begun, 2)
    }))

  it.scoped("goes on while somebody waits, and ends with the last", () =>
    Effect.gen(function*() {
      const { gate, get, seen } = yield* setting
      const first = yield* Effect.fork(get("a"))
      const second = yield* Effect.fork(get("a"))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      yield* Fiber.interrupt(first)
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      assert.deepStrictEqual(seen, { begun: 1, interrupted: 0 })
      yield* Fiber.interrupt(second)
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      assert.deepStrictEqual(seen, { begun: 1, interrupted: 1 })
      const third = yield* Effect.fork(get("a"))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(third), { value: 2, hit: false })
    }))

  it.scoped("keeps no failure, and no more than it may hold", () =>
    Effect.gen(function*() {
      const { cache } = yield* setting
      assert.isTrue(Exit.isFailure(yield* Effect.exit(cache.get("a", Effect.fail("no"), () => 1000))))
      for (const [index, key] of ["a", "b", "c", "a", "d"].entries()) {
        yield* cache.get(key, Effect.succeed(index), () => 1000)
      }
      assert.strictEqual(yield* cache.peek("a"), 0)
      assert.isUndefined(yield* cache.peek("b"))
      assert.strictEqual(yield* cache.peek("c"), 2)
      assert.strictEqual(yield* cache.peek("d"), 4)
    }))
})
