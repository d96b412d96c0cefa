import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, FastCheck as fc, Layer, Random, Schema, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { DhcpFilterId } from "../../src/schema/DhcpFilter.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { SessionId } from "../../src/schema/Session.ts"
import {
  isBeyond,
  parsePosition,
  positionText,
  type StreamPosition,
  wholeBatch
} from "../../src/schema/StreamPosition.ts"
import { UserId } from "../../src/schema/User.ts"
import { Authenticator, credentialId } from "../../src/services/Authenticator.ts"
import { BatchLedger } from "../../src/services/BatchLedger.ts"
import { BatchStore, BatchStoreLive } from "../../src/services/BatchStore.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { DhcpFilters } from "../../src/services/DhcpFilters.ts"
import { IpGuard } from "../../src/services/IpGuard.ts"
import { LiveEvents, LiveEventsLive, type LiveStream } from "../../src/services/LiveEvents.ts"
import { LiveLimits } from "../../src/services/LiveLimits.ts"
import type { LiveItem, Watch } from "../../src/services/liveWatcher.ts"
import { storedForm } from "../layers/DhcpEventsMemory.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { filterJson } from "../support/arbitraries/filter.ts"
import { MemoryPorts } from "../support/testApi.ts"

const userId = UserId.make(1)
const sessionId = SessionId.make(randomUUID())
const watch: Watch = {
  userId,
  address: undefined,
  credential: { _tag: "Session", session: { id: sessionId } as never, tokenHash: "" }
}

const yes = () => Effect.succeed(true)
const Admitting = Layer.merge(
  Layer.succeed(IpGuard, IpGuard.of({ admits: yes, stillAdmits: yes, changed: Effect.void })),
  Layer.succeed(Authenticator, {
    alive: (credentials: ReadonlyArray<Watch["credential"]>) => Effect.succeed(new Set(credentials.map(credentialId)))
  } as never)
)

const live = (limits: Partial<typeof LiveLimits.Service> = {}) =>
  Layer.merge(LiveEventsLive, BatchStoreLive).pipe(
    Layer.provide(Admitting),
    Layer.provideMerge(MemoryPorts),
    Layer.provide(Layer.effect(LiveLimits, Effect.map(LiveLimits, (defaults) => ({ ...defaults, ...limits }))))
  )

const rarely = { heartbeat: Duration.seconds(1), poll: Duration.seconds(5), check: Duration.hours(1) }

const decode = Schema.decodeUnknownSync(DhcpEventFilter)
const event = (n: number): DhcpEvent => ({
  event_time: "2096-02-01T12:00:00.000Z",
  protocol: "dhcpv4",
  message_type: "discover",
  client_mac: "02:bd:00:00:00:01" as NonNullable<DhcpEvent["client_mac"]>,
  transaction_id: String(n)
})
const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => event(from + index))

const store = (events: ReadonlyArray<DhcpEvent>) =>
  Effect.flatMap(BatchStore, (batches) => batches.store(events, randomUUID()))

/** Reads until the stream has told everything up to a position. */
const readUpTo = Effect.fnUntraced(function*(stream: LiveStream, end: StreamPosition) {
  const items: Array<LiveItem> = []
  const reached = (item: LiveItem) =>
    item._tag === "Reached"
      ? !isBeyond(end, item.position)
      : item._tag === "Event" && !isBeyond({ ...end, row: 0 }, { ...item.event.position, row: wholeBatch }) &&
        item.event.position.place >= end.place && item.event.position.row >= end.row
  for (;;) {
    items.push(...yield* stream.next)
    if (items.some(reached)) return items
  }
})

const numbersOf = (items: ReadonlyArray<LiveItem>) =>
  items.flatMap((item) => item._tag === "Event" ? [Number(item.event.event.transaction_id)] : [])

describe("live events", () => {
  it.prop("positions are read as they are written", {
    place: fc.nat(),
    row: fc.option(fc.nat({ max: 0xffff_ffff }))
  }, ({ place, row }) => {
    const position = { place, row: row ?? wholeBatch }
    assert.deepStrictEqual(parsePosition(positionText(position)), position)
  })

  it.effect("a slow reader is told how many it missed, and the others miss none", () =>
    Effect.gen(function*() {
      const events = yield* LiveEvents
      const slow = yield* events.open(watch, {})
      const quick = yield* events.open(watch, {})
      const told = yield* Effect.fork(readUpTo(quick, { place: 3, row: 499 }))
      yield* store(range(0, 500))
      yield* store(range(500, 500))
      yield* store(range(1000, 500))
      assert.deepStrictEqual(numbersOf(yield* told), Array.from({ length: 1500 }, (_, n) => n))
      const items: Array<LiveItem> = []
      while (items.at(-1)?._tag !== "Dropped") items.push(...yield* slow.next)
      const kept = numbersOf(items)
      assert.deepStrictEqual(kept, Array.from({ length: kept.length }, (_, n) => n))
      const dropped = items.at(-1)
      assert.deepInclude(dropped, { _tag: "Dropped", count: 1500 - kept.length, after: { place: 1, row: 99 } })
      assert.lengthOf(kept, 100)
      // It can go on from there without having missed any.
      const again = yield* events.open(watch, { after: { place: 1, row: 99 } })
      const rest = numbersOf(yield* readUpTo(again, { place: 3, row: 499 }))
      assert.deepStrictEqual(rest, Array.from({ length: 1400 }, (_, n) => n + 100))
      yield* store(range(1500, 1))
      assert.deepStrictEqual(numbersOf(yield* slow.next), [1500])
    }).pipe(Effect.provide(live({ queue: 100 }))))

  it.effect("a backlog that is too long is cut, and everybody is told", () =>
    Effect.gen(function*() {
      const events = yield* LiveEvents
      const ledger = yield* BatchLedger
      // An open batch holds the reader back while others are stored.
      const stream = yield* events.open(watch, {})
      const held = yield* ledger.open({ events: 1, from: event(0).event_time, to: event(0).event_time })
      for (const from of [0, 40, 80, 120]) yield* store(range(from, 40))
      yield* ledger.leave(held)
      yield* TestClock.adjust("1 seconds")
      const items: Array<LiveItem> = []
      while (numbersOf(items).at(-1) !== 159) items.push(...yield* stream.next)
      assert.deepInclude(items[0], { _tag: "Dropped", count: 80 })
      assert.deepStrictEqual(numbersOf(items), Array.from({ length: 80 }, (_, n) => n + 80))
    }).pipe(Effect.provide(live({ backlog: 100 }))))

  it.effect("events of a batch whose node was late are told after the others", () =>
    Effect.gen(function*() {
      const events = yield* LiveEvents
      const ledger = yield* BatchLedger
      const stream = yield* events.open(watch, {})
      const held = yield* ledger.open({ events: 1, from: event(0).event_time, to: event(0).event_time })
      yield* store([event(1)])
      yield* TestClock.adjust("9 seconds")
      const next = yield* Effect.fork(stream.next)
      yield* Effect.yieldNow()
      assert.isNull(next.unsafePoll(), "what comes after an open batch waits")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(numbersOf(yield* next), [1])
      yield* ledger.close(held)
      assert.strictEqual((yield* ledger.read(0, 10)).batches.at(-1)?.number, held)
    }).pipe(Effect.provide(live())))

  it.effect.prop(
    "each event that matches is told once and in order, however often the stream is cut while more come in",
    {
      batches: fc.array(fc.array(dhcpEvent, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 }),
      filter: filterJson,
      seed: fc.string(),
      queue: fc.integer({ min: 200, max: 400 })
    },
    ({ batches, filter, queue, seed }) =>
      Effect.gen(function*() {
        const events = yield* LiveEvents
        const filters = yield* DhcpFilters
        const id = DhcpFilterId.make(randomUUID())
        const at = DateTime.unsafeMake(0)
        yield* filters.create({ id, userId, draft: { name: "x", rules: decode(filter) }, at })
        const first = yield* events.open(watch, { filterId: id })
        const writing = yield* Effect.fork(
          Effect.forEach(batches, (batch) => Effect.zipRight(Effect.yieldNow(), store(batch)), { concurrency: 3 })
        )
        const told: Array<string> = []
        let stream = first
        let position = first.from
        let done = false
        yield* Effect.fork(Effect.zipRight(
          writing,
          Effect.sync(() => {
            done = true
          })
        ))
        for (let rounds = 0;; rounds++) {
          const last = done
          // A heartbeat ends the wait where nothing matches.
          const items = yield* Effect.raceFirst(stream.next, Effect.forever(TestClock.adjust("1 seconds")))
          const kept = (yield* Random.nextBoolean)
            ? items
            : items.slice(0, yield* Random.nextIntBetween(0, items.length + 1))
          for (const item of kept) {
            assert.notInclude(["Dropped", "Reset", "Ended"], item._tag)
            if (item._tag === "Event") {
              told.push(item.event.id)
              position = item.event.position
            } else if (item._tag === "Reached") position = item.position
          }
          if (last && kept.length === items.length && items.at(-1)?._tag === "Reached" && rounds > batches.length) break
          if (kept.length < items.length || (yield* Random.nextIntBetween(0, 4)) === 0) {
            yield* stream.close
            stream = yield* events.open(watch, { filterId: id, after: position })
          }
        }
        const { batches: stored } = yield* (yield* BatchLedger).read(0, 1000)
        const matches = compileDhcpEventPredicate(decode(filter))
        assert.lengthOf(stored, batches.length)
        const all = yield* (yield* DhcpEvents).batched({ batches: stored, limit: 1000 })
        assert.deepStrictEqual(
          told,
          all.filter(({ event }) => matches(storedForm(event))).map(({ batch, row }) => `${batch}-${row}`)
        )
        yield* stream.close
        assert.strictEqual(yield* events.count, 0)
      }).pipe(Effect.withRandom(Random.make(seed)), Effect.provide(live({ queue, ...rarely }))),
    { fastCheck: { numRuns: 20 } }
  )
})
