import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { gathered } from "../../src/layers/postgres/gathered.ts"

const start = Effect.gen(function*() {
  const rounds: Array<{ readonly keys: ReadonlyArray<number>; readonly open: Deferred.Deferred<void, string> }> = []
  const ask = yield* gathered((keys: ReadonlyArray<number>) =>
    Effect.gen(function*() {
      const open = yield* Deferred.make<void, string>()
      rounds.push({ keys, open })
      yield* Effect.orDie(Deferred.await(open))
      return keys.map((key) => key * 10)
    })
  )
  const put = (key: number) => Effect.tap(Effect.fork(ask(key)), Effect.yieldNow())
  return { put, rounds, open: (index: number) => Deferred.succeed(rounds[index]!.open, undefined) }
})

describe("gathered", () => {
  it.effect("asks at once while it may, and what comes meanwhile together afterwards", () =>
    Effect.gen(function*() {
      const { open, put, rounds } = yield* start
      const fibers = yield* Effect.forEach([1, 2, 3, 4, 4], put)
      assert.deepStrictEqual(rounds.map(({ keys }) => keys), [[1], [2]])
      yield* open(1)
      assert.strictEqual(yield* Fiber.join(fibers[1]!), 20)
      assert.deepStrictEqual(rounds.map(({ keys }) => keys), [[1], [2], [3, 4, 4]])
      // What comes now is never answered by a question that was asked before it.
      const late = yield* put(3)
      yield* open(2)
      assert.deepStrictEqual(yield* Effect.forEach(fibers.slice(2), Fiber.join), [30, 40, 40])
      assert.deepStrictEqual(rounds.map(({ keys }) => keys), [[1], [2], [3, 4, 4], [3]])
      yield* open(3)
      yield* open(0)
      assert.strictEqual(yield* Fiber.join(late), 30)
      assert.strictEqual(yield* Fiber.join(fibers[0]!), 10)
    }))

  it.effect("fails those alone that were asked together, and forgets who went away", () =>
    Effect.gen(function*() {
      const { open, put, rounds } = yield* start
      const [first, second, third, fourth] = yield* Effect.forEach([1, 2, 3, 4], put)
      yield* Fiber.interrupt(third!)
      yield* Deferred.fail(rounds[0]!.open, "down")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(first!)))
      assert.deepStrictEqual(rounds.map(({ keys }) => keys), [[1], [2], [4]])
      yield* open(1)
      yield* open(2)
      assert.deepStrictEqual([yield* Fiber.join(second!), yield* Fiber.join(fourth!)], [20, 40])
    }))
})
