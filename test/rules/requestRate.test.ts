import { assert, describe, it } from "@effect/vitest"
import { Chunk, Context, Duration, Effect, Layer, Option, Ref, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { RequestCounts } from "../../src/services/RequestCounts.ts"
import { RequestRate, RequestRateLive } from "../../src/services/RequestRate.ts"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { RequestCountsMemory } from "../layers/IdentityMemory.ts"

const max = 100

const Limited = Layer.effect(
  SignInLimits,
  Effect.map(SignInLimits, (limits) => ({ ...limits, requests: { max, window: Duration.minutes(1) } }))
)

/** Counts that say how often they were told something. */
const watched = Effect.gen(function*() {
  const told = yield* Ref.make(0)
  const counts = Context.get(yield* Layer.build(RequestCountsMemory), RequestCounts)
  const broken = yield* Ref.make(false)
  const layer = Layer.succeed(
    RequestCounts,
    RequestCounts.of({
      purge: counts.purge,
      add: (requests) =>
        Ref.update(told, (times) => times + 1).pipe(
          Effect.zipRight(Ref.get(broken)),
          Effect.flatMap((broken) => broken ? Effect.die("the store is away") : counts.add(requests))
        )
    })
  )
  const node = Layer.build(Layer.fresh(RequestRateLive).pipe(Layer.provide([layer, Limited])))
  return { told, broken, node: Effect.map(node, Context.get(RequestRate)) }
})

const takeTimes = (rate: RequestRate["Type"], token: string, times: number) =>
  Effect.map(
    Effect.replicateEffect(rate.take(token), times),
    (waits) => waits.filter(Option.isNone).length
  )

describe("the rate of requests", () => {
  it.scoped("is limited for each token and window", () =>
    Effect.gen(function*() {
      const { node } = yield* watched
      const rate = yield* node
      const [token, other] = [randomUUID(), randomUUID()]
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* takeTimes(rate, token, max + 10), max)
      assert.deepStrictEqual(yield* rate.take(token), Option.some(Duration.seconds(50)))
      assert.strictEqual(yield* takeTimes(rate, other, 1), 1)
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(yield* takeTimes(rate, token, max + 10), max)
    }))

  it.scoped("is that of all nodes together, a second later", () =>
    Effect.gen(function*() {
      const { node } = yield* watched
      const [a, b] = [yield* node, yield* node]
      const token = randomUUID()
      assert.strictEqual(yield* takeTimes(a, token, 60), 60)
      assert.strictEqual(yield* takeTimes(b, token, 30), 30)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* takeTimes(b, token, max), 10)
      yield* TestClock.adjust("1 seconds")
      yield* takeTimes(a, token, 1)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* takeTimes(a, token, max), 0)
    }))

  it.scoped("is exchanged again after an outage", () =>
    Effect.gen(function*() {
      const { broken, node, told } = yield* watched
      const [a, b] = [yield* node, yield* node]
      const token = randomUUID()
      yield* Ref.set(broken, true)
      yield* takeTimes(a, token, 60)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Ref.get(told), 5)
      yield* Ref.set(broken, false)
      yield* takeTimes(b, token, 40)
      yield* TestClock.adjust("2 seconds")
      yield* takeTimes(b, token, 1)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* takeTimes(b, token, 1), 0)
    }))

  it.scoped("costs nothing while there is nothing to tell", () =>
    Effect.gen(function*() {
      const { node, told } = yield* watched
      const rate = yield* node
      assert.isTrue(Chunk.isEmpty(yield* TestClock.sleeps()))
      yield* takeTimes(rate, randomUUID(), max / 10)
      yield* TestClock.adjust("1 hours")
      assert.isTrue(Chunk.isEmpty(yield* TestClock.sleeps()))
      assert.strictEqual(yield* Ref.get(told), 0)
      yield* takeTimes(rate, randomUUID(), max)
      yield* TestClock.adjust("1 hours")
      assert.isTrue(Chunk.isEmpty(yield* TestClock.sleeps()))
      assert.strictEqual(yield* Ref.get(told), 1)
    }))
})
