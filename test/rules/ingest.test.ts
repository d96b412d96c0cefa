import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Either, FastCheck as fc, Layer, Ref, Stream, TestClock } from "effect"
import { DhcpEvents, EventStoreFailed } from "../../src/services/DhcpEvents.ts"
import { eventWindow } from "../../src/services/EventWindow.ts"
import { Ingest, IngestLive, type IngestStopped } from "../../src/services/Ingest.ts"
import { batchLimits, IngestBatches } from "../../src/services/IngestBatches.ts"
import type { NdjsonLine } from "../../src/services/NdjsonLines.ts"
import { EventMemory } from "../layers/DhcpEventsMemory.ts"
import { beginning, MemoryPorts } from "../support/testApi.ts"

/** Line `n` as an event that names it. */
const eventLine = (n: number) =>
  `{"event_time":"2096-02-01T12:00:00.000Z","protocol":"dhcpv4","message_type":"discover",` +
  `"client_mac":"02:bd:00:00:00:01","hostname":"line-${n}"}`

const lines = (from: number, to: number, bad: (n: number) => boolean = () => false) =>
  Array.from({ length: to - from + 1 }, (_, i) => bad(from + i) ? "{}" : eventLine(from + i))

const size = batchLimits.lines
const more = size + 5000
const encoder = new TextEncoder()
const octets = (all: ReadonlyArray<string>, chunk = 65_536) => {
  const bytes = encoder.encode(all.join("\n"))
  return Stream.range(0, Math.max(0, Math.ceil(bytes.length / chunk) - 1)).pipe(
    Stream.map((index) => bytes.subarray(index * chunk, (index + 1) * chunk))
  )
}

/** Time passes while the effect runs, for whoever waits before a retry. */
const whileTimePasses = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, Effect.forever(TestClock.adjust("1 seconds")))

const ingest = (stream: Stream.Stream<Uint8Array>, key?: string) =>
  whileTimePasses(Effect.flatMap(Ingest, (service) => service.lines(stream, key)))

const stored = Effect.flatMap(
  EventMemory,
  (memory) => Effect.map(Ref.get(memory), ({ rows }) => rows.map(({ event }) => event.hostname))
)

interface Faults {
  /** How many batches are stored before the store goes down. */
  readonly until: number
  /** Whether a batch is stored although its sender is told of a failure. */
  readonly loseAnswers: boolean
}

/** A store that fails as told; none where it doesn't. */
const faults = Ref.unsafeMake<Faults>({ until: Infinity, loseAnswers: false })

const FaultyEvents = Layer.effect(
  DhcpEvents,
  Effect.map(DhcpEvents, (events) => {
    const lost = new Set<string>()
    let taken = 0
    const failure = new EventStoreFailed({ cause: "down" })
    return DhcpEvents.of({
      ...events,
      append: Effect.fnUntraced(function*(batch) {
        const { loseAnswers, until } = yield* Ref.get(faults)
        if (taken >= until) return yield* failure
        yield* events.append(batch)
        const token = batch.deduplicationToken ?? ""
        if (loseAnswers && !lost.has(token)) {
          lost.add(token)
          return yield* failure
        }
        taken++
      })
    })
  })
)

const Rules = IngestLive.pipe(
  Layer.provideMerge(Layer.merge(MemoryPorts, Layer.provide(FaultyEvents, MemoryPorts))),
  Layer.provide(Layer.effectDiscard(TestClock.setTime(beginning)))
)

const withFaults = <A, E>(told: Faults, effect: Effect.Effect<A, E, Layer.Layer.Success<typeof Rules>>) =>
  Effect.zipRight(Ref.set(faults, told), Effect.provide(effect, Rules))

const never: Faults = { until: Infinity, loseAnswers: false }

describe("ingest", () => {
  it.effect("takes more lines than a batch holds, in order", () =>
    withFaults(
      never,
      Effect.gen(function*() {
        const bad = (n: number) => n % 1000 === 7
        const total = 2 * size + 5000
        const verdict = yield* ingest(octets(lines(1, total, bad)))
        const refused = Array.from({ length: total / 1000 }, (_, i) => i * 1000 + 7)
        assert.strictEqual(verdict.accepted, total - refused.length)
        assert.strictEqual(verdict.rejected, refused.length)
        assert.deepStrictEqual(verdict.errors.map(({ line }) => line), refused)
        const names = yield* stored
        assert.strictEqual(names.length, verdict.accepted)
        assert.strictEqual(new Set(names).size, names.length)
        const memory = yield* Ref.get(yield* EventMemory)
        assert.deepStrictEqual([...new Set(memory.rows.map(({ batch }) => batch))], [1, 2, 3])
      })
    ))

  it.effect("names the first hundred refused lines", () =>
    withFaults(
      never,
      Effect.gen(function*() {
        const verdict = yield* ingest(octets(lines(1, 12_000, () => true)))
        assert.deepInclude(verdict, { accepted: 0, rejected: 12_000 })
        assert.deepStrictEqual(verdict.errors.map(({ line }) => line), Array.from({ length: 100 }, (_, i) => i + 1))
      })
    ))

  it.effect.prop("that is stopped says from where to go on, and then each line is stored once", {
    until: fc.integer({ min: 0, max: 3 }),
    total: fc.integer({ min: 1, max: 3 * size + 500 }),
    badEvery: fc.integer({ min: 2, max: 5000 }),
    chunk: fc.constantFrom(1000, 65_536, 1_000_000)
  }, ({ badEvery, chunk, total, until }) => {
    const bad = (n: number) => n % badEvery === 0
    return withFaults(
      { until, loseAnswers: false },
      Effect.gen(function*() {
        const first = yield* Effect.either(ingest(octets(lines(1, total, bad), chunk)))
        const batches = Math.ceil(total / size)
        assert.strictEqual(Either.isLeft(first), batches > until)
        if (Either.isLeft(first)) {
          const { resumeLine, verdict }: IngestStopped = first.left
          assert.strictEqual(resumeLine, until * size + 1)
          assert.strictEqual(verdict.accepted, (yield* stored).length)
          assert.strictEqual(verdict.accepted + verdict.rejected, resumeLine - 1)
          yield* Ref.set(faults, never)
          yield* ingest(octets(lines(resumeLine, total, bad), chunk))
        }
        const good = Array.from({ length: total }, (_, i) => i + 1).filter((n) => !bad(n)).map((n) => `line-${n}`)
        assert.deepStrictEqual(yield* stored, good)
      })
    )
  }, { fastCheck: { numRuns: 5 } })

  it.effect("stores a batch once whose answer was lost", () =>
    withFaults(
      { until: Infinity, loseAnswers: true },
      Effect.gen(function*() {
        assert.strictEqual((yield* ingest(octets(lines(1, more)))).accepted, more)
        assert.strictEqual((yield* stored).length, more)
      })
    ))

  it.effect("stores the same lines under the same key once, also from a stream that was stopped", () =>
    withFaults(
      { until: 1, loseAnswers: false },
      Effect.gen(function*() {
        assert.isTrue(Either.isLeft(yield* Effect.either(ingest(octets(lines(1, more)), "a"))))
        assert.strictEqual((yield* stored).length, size)
        yield* Ref.set(faults, never)
        for (const chunk of [1000, 65_536]) {
          assert.strictEqual((yield* ingest(octets(lines(1, more), chunk), "a")).accepted, more)
          assert.strictEqual((yield* stored).length, more)
        }
        yield* ingest(octets(lines(1, 3)), "a")
        assert.strictEqual((yield* stored).length, more + 3)
        yield* ingest(octets(lines(1, 3)), "b")
        yield* ingest(octets(lines(1, 3)))
        yield* ingest(octets(lines(1, 3)))
        assert.strictEqual((yield* stored).length, more + 12)
      })
    ))

  it.effect("takes times from when events are kept to a day ahead", () =>
    withFaults(
      never,
      Effect.gen(function*() {
        const at = (millis: number) =>
          eventLine(1).replace(
            "2096-02-01T12:00:00.000Z",
            new Date(DateTime.toEpochMillis(beginning) + millis).toISOString()
          )
        const day = 86_400_000
        const offsets = [-30 * day - 1, -30 * day, 0, day, day + 1, -3650 * day, 3650 * day]
        const verdict = yield* Effect.flatMap(Ingest, (service) => service.lines(octets(offsets.map(at))))
        assert.strictEqual(verdict.accepted, 3)
        assert.deepStrictEqual(verdict.errors.map(({ line }) => line), [1, 5, 6, 7])
        assert.match(verdict.errors[0]!.message, /older than what is kept/)
        assert.match(verdict.errors[1]!.message, /24 hours ahead/)
      })
    ))
})

describe("batches", () => {
  const window = eventWindow(DateTime.toEpochMillis(beginning))
  const cut = (all: ReadonlyArray<NdjsonLine>, sizes: ReadonlyArray<number>) => {
    const batches = new IngestBatches((text) => Either.left(text), window, true)
    const ready = []
    for (let start = 0, i = 0; start < all.length; start += sizes[i % sizes.length]!, i++) {
      ready.push(...batches.push(all.slice(start, start + sizes[i % sizes.length]!)))
    }
    return [...ready, ...batches.end()].map(({ digest, errors, firstLine, rejected }) => ({
      digest,
      errors,
      firstLine,
      rejected
    }))
  }

  it.prop("are cut by the lines alone, not by how they arrive", {
    count: fc.integer({ min: 0, max: 2 * size + 500 }),
    gaps: fc.integer({ min: 1, max: 50 }),
    width: fc.constantFrom(1, 100, 3000),
    sizes: fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 4 })
  }, ({ count, gaps, sizes, width }) => {
    const text = "x".repeat(width)
    const all: ReadonlyArray<NdjsonLine> = Array.from({ length: count }, (_, i) => ({ number: i * gaps + 1, text }))
    const batches = cut(all, [count + 1])
    assert.deepStrictEqual(cut(all, sizes), batches)
    assert.strictEqual(batches.reduce((sum, { rejected }) => sum + rejected, 0), count)
    for (const { rejected } of batches) {
      assert.isAtMost(rejected, size)
      assert.isAtMost((rejected - 1) * width, batchLimits.characters)
    }
  }, { fastCheck: { numRuns: 10 } })
})
