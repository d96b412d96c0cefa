import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FastCheck as fc, Layer } from "effect"
import { BatchLedger, LedgerTimes } from "../../src/services/BatchLedger.ts"

const outline = { events: 3, from: "2026-01-31T08:00:00.000Z", to: "2026-01-31T08:00:01.500Z" }

/** Leases that last, and leases that run out at once. */
const times = (lease: Duration.DurationInput, keep: Duration.DurationInput = "1 hour") =>
  Layer.succeed(LedgerTimes, {
    lease: Duration.decode(lease),
    renewEvery: Duration.seconds(3),
    lateAfter: Duration.zero,
    keep: Duration.decode(keep)
  })

const ops = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ op: fc.constant("open" as const), batch: fc.constant(0) }) },
    {
      weight: 8,
      arbitrary: fc.record({
        op: fc.constantFrom("close" as const, "leave" as const, "found" as const, "missing" as const),
        batch: fc.nat(11)
      })
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constantFrom("read" as const, "reap" as const), batch: fc.nat(3) }) }
  ),
  { maxLength: 60 }
)

const readAll = Effect.fnUntraced(function*(after: number, limit = 3) {
  const ledger = yield* BatchLedger
  const found: Array<{ readonly place: number; readonly number: number }> = []
  let place = after
  for (;;) {
    const page = yield* ledger.read(place, limit)
    for (const batch of page.batches) {
      assert.isTrue(batch.place > place && batch.place <= page.settled, "places rise up to what is settled")
      assert.deepInclude(batch, outline)
      place = batch.place
      found.push(batch)
    }
    if (page.batches.length < limit) return { found, place, page }
  }
})

/** What every implementation of `BatchLedger` keeps. */
export const batchLedgerContract = (name: string, layer: Layer.Layer<BatchLedger>, numRuns: number) =>
  describe(`BatchLedger contract: ${name}`, () => {
    it.layer(Layer.provide(Layer.fresh(layer), times(0)))((it) => {
      it.effect.prop(
        "a reader meets each stored batch once, whenever it is stored, given up or found again",
        [ops],
        ([script]) =>
          Effect.gen(function*() {
            const ledger = yield* BatchLedger
            const start = (yield* ledger.read(Number.MAX_SAFE_INTEGER, 1)).settled
            const numbers: Array<number> = []
            const stored = new Set<number>()
            const left = new Set<number>()
            const met: Array<number> = []
            let place = start
            const read = Effect.fnUntraced(function*() {
              const { found, page, place: last } = yield* readAll(place)
              met.push(...found.map(({ number }) => number))
              place = last
              assert.strictEqual(page.horizon <= start, true)
            })
            for (const { batch, op } of script) {
              const number = numbers[batch]
              if (op === "open") numbers.push(yield* ledger.open(outline))
              else if (op === "read") yield* read()
              else if (op === "reap") {
                yield* ledger.reap
                for (const each of numbers) if (!stored.has(each)) left.add(each)
              } else if (number !== undefined) {
                if (op === "close") {
                  yield* ledger.close(number)
                  stored.add(number)
                } else if (op === "leave") {
                  yield* ledger.leave(number)
                  if (!stored.has(number)) left.add(number)
                } else if (left.has(number)) {
                  const known = (yield* ledger.late).some((late) => late.number === number)
                  yield* ledger.settle(number, op === "found")
                  if (known && op === "found") stored.add(number)
                }
              }
            }
            yield* ledger.reap
            yield* read()
            assert.deepStrictEqual([...met].sort((a, b) => a - b), [...stored].sort((a, b) => a - b))
            for (const number of numbers) if (!stored.has(number)) yield* ledger.settle(number, false)
          }),
        { fastCheck: { numRuns } }
      )
    })

    it.layer(Layer.provide(Layer.fresh(layer), times("1 hour")))((it) => {
      it.effect("a reader waits for the first open batch, and goes on where it is given up", () =>
        Effect.gen(function*() {
          const ledger = yield* BatchLedger
          const numbers = [yield* ledger.open(outline), yield* ledger.open(outline), yield* ledger.open(outline)]
          const [first, second, third] = numbers as [number, number, number]
          yield* ledger.close(second)
          assert.deepStrictEqual((yield* readAll(first - 1)).found, [])
          yield* ledger.reap
          yield* ledger.renew(first)
          assert.deepStrictEqual((yield* readAll(first - 1)).page.overdue, false)
          yield* ledger.leave(first)
          const { found, page } = yield* readAll(first - 1)
          assert.deepStrictEqual(found.map(({ number }) => number), [second])
          assert.strictEqual(page.settled, third - 1)
          yield* ledger.close(third)
          yield* ledger.close(first)
          yield* ledger.close(first)
          const rest = yield* readAll(second)
          assert.deepStrictEqual(rest.found.map(({ number }) => number), [third, first])
          assert.isAbove(rest.found[1]!.place, third)
        }))

      it.effect("batches taken and stored at once by many are each met once by a reader at the same time", () =>
        Effect.gen(function*() {
          const ledger = yield* BatchLedger
          const start = (yield* ledger.read(Number.MAX_SAFE_INTEGER, 1)).settled
          const met: Array<number> = []
          let place = start
          const total = 120
          const write = Effect.gen(function*() {
            const number = yield* ledger.open(outline)
            yield* Effect.yieldNow()
            yield* ledger.close(number)
          })
          const read = Effect.gen(function*() {
            const page = yield* readAll(place, 7)
            met.push(...page.found.map(({ number }) => number))
            place = page.place
            yield* Effect.yieldNow()
          })
          yield* Effect.forEach(Array.from({ length: total }), () => write, { concurrency: 8, discard: true }).pipe(
            Effect.raceFirst(Effect.forever(read))
          )
          yield* read
          assert.lengthOf(met, total)
          assert.strictEqual(new Set(met).size, total)
        }))
    })

    it.effect("what is older than is kept is forgotten, and the horizon says up to where", () =>
      Effect.gen(function*() {
        const ledger = yield* BatchLedger
        const first = yield* ledger.open(outline)
        yield* ledger.close(first)
        const open = yield* ledger.open(outline)
        const last = yield* ledger.open(outline)
        yield* ledger.close(last)
        yield* ledger.prune
        const { batches, horizon } = yield* ledger.read(0, 10)
        assert.strictEqual(horizon, last)
        assert.deepStrictEqual(batches, [])
        yield* ledger.leave(open)
        assert.strictEqual((yield* ledger.read(0, 10)).settled, last)
        yield* ledger.close(open)
        const late = yield* ledger.read(last, 10)
        assert.deepStrictEqual(late.batches.map(({ number }) => number), [open])
        assert.isAbove(late.batches[0]!.place, last)
      }).pipe(Effect.provide(Layer.provide(Layer.fresh(layer), times("1 hour", 0)))))
  })
