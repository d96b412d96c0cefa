import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer, Schema } from "effect"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { shiftEvent } from "../../src/services/capture/shiftToNow.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import {
  type BatchedEvent,
  type BatchQuery,
  DhcpEvents,
  type EventPosition,
  type EventQuery,
  type StoredEvent
} from "../../src/services/DhcpEvents.ts"
import { storedForm } from "../layers/DhcpEventsMemory.ts"
import { traffic, trafficLength } from "../support/arbitraries/detector.ts"
import { filterJson } from "../support/arbitraries/filter.ts"
import { makeStretches } from "./Detections.ts"

/** The place of a listed event, which its id names. */
const positionOf = ({ event_time, id }: StoredEvent): EventPosition => {
  const [batch, row] = id.split("-").map(Number)
  return { event_time, batch: batch!, row: row! }
}

const isAfter = (a: EventPosition, b: EventPosition): boolean =>
  a.event_time < b.event_time ||
  (a.event_time === b.event_time && (a.batch < b.batch || (a.batch === b.batch && a.row < b.row)))

const listAll = (events: DhcpEvents["Type"], query: EventQuery) =>
  Effect.gen(function*() {
    const found: Array<StoredEvent> = []
    let after: EventPosition | undefined
    for (;;) {
      const { items, next } = yield* events.list({ ...query, after })
      assert.isAtMost(items.length, query.limit)
      found.push(...items)
      if (next === null) return found
      assert.lengthOf(items, query.limit)
      after = positionOf(items.at(-1)!)
    }
  })

/** All events of a query in the order of their places, page by page. */
const readAll = Effect.fnUntraced(function*(events: DhcpEvents["Type"], query: BatchQuery) {
  const found: Array<BatchedEvent> = []
  for (;;) {
    const last = found.at(-1)
    const page: ReadonlyArray<BatchedEvent> = yield* events.batched({ ...query, after: last })
    assert.isAtMost(page.length, query.limit)
    found.push(...page)
    if (page.length < query.limit) return found
  }
})

const withoutId = ({ id: _, ...event }: StoredEvent): DhcpEvent => event
const decode = Schema.decodeUnknownSync(DhcpEventFilter)
const discover = (millis: number): DhcpEvent => ({
  event_time: new Date(millis).toISOString(),
  protocol: "dhcpv4",
  message_type: "discover",
  client_mac: "02:bd:00:00:00:01" as NonNullable<DhcpEvent["client_mac"]>
})
const second = Math.floor(Date.now() / 1000) * 1000
const around = (count = true): EventQuery => ({
  start: new Date(second - 86_400_000),
  end: new Date(second + 86_400_000),
  limit: 1000,
  count
})

/** What every implementation of `DhcpEvents` keeps; the layer is built anew, without events, for each test. */
export const dhcpEventsContract = (name: string, layer: Layer.Layer<DhcpEvents>, numRuns: number) =>
  describe(`DhcpEvents contract: ${name}`, () => {
    it.effect("lists what matches once each, newest first, over any pages", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        const stretch = makeStretches()
        const property = fc.asyncProperty(
          traffic,
          filterJson.map(decode),
          fc.integer({ min: 7, max: 50 }),
          (made, filter, limit) =>
            Effect.runPromise(Effect.gen(function*() {
              const { batch, startsAt } = stretch()
              const all = made.map((event) => shiftEvent(event, startsAt))
              yield* events.append({ number: batch, events: all })
              const range = { start: new Date(startsAt - 1), end: new Date(startsAt + trafficLength) }
              const listed = yield* listAll(events, { ...range, limit, count: false })
              const ids = listed.map(({ id }) => id)
              assert.deepStrictEqual([...ids].sort(), all.map((_, row) => `${batch}-${row}`).sort())
              for (const event of listed) {
                assert.deepStrictEqual(withoutId(event), storedForm(all[positionOf(event).row]!))
              }
              assert.isTrue(
                listed.every((event, index) =>
                  index === 0 || isAfter(positionOf(event), positionOf(listed[index - 1]!))
                )
              )
              const matches = compileDhcpEventPredicate(filter)
              const wanted = listed.filter((event) => matches(withoutId(event)))
              assert.deepStrictEqual(yield* listAll(events, { ...range, filter, limit, count: false }), wanted)
              assert.deepStrictEqual(yield* events.countMatches({ ...range, filter }), {
                matched: wanted.length,
                total: all.length
              })
              const times = all.map(({ event_time }) => event_time).sort()
              const read = yield* readAll(events, {
                batches: [{ number: batch, from: times[0]!, to: times.at(-1)! }],
                filter,
                limit
              })
              assert.deepStrictEqual(
                read,
                all.flatMap((event, row) =>
                  matches(storedForm(event)) ? [{ batch, row, event: storedForm(event) }] : []
                )
              )
              const page = yield* events.list({ ...range, filter, limit, count: true })
              assert.strictEqual(page.total, wanted.length)
              assert.deepStrictEqual(page.items, wanted.slice(0, limit))
              if (page.next !== null) {
                const after = positionOf(page.items.at(-1)!)
                assert.strictEqual(
                  (yield* events.list({ ...range, filter, limit, count: true, after })).total,
                  wanted.length
                )
              }
            }))
        )
        yield* Effect.promise(() => fc.assert(property, { numRuns, endOnFailure: true }))
      }).pipe(Effect.provide(layer)))

    it.effect("lists after the start up to and including the end, and counts only when asked", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        yield* events.append({ number: 1, events: [second - 1, second, second + 1].map(discover) })
        const times = (start: number, end: number) =>
          Effect.map(
            events.list({ ...around(false), start: new Date(start), end: new Date(end) }),
            ({ items }) => items.map(({ event_time }) => Date.parse(event_time))
          )
        assert.deepStrictEqual(yield* times(second - 1, second), [second])
        assert.deepStrictEqual(yield* times(second - 2, second + 1), [second + 1, second, second - 1])
        assert.deepStrictEqual(yield* times(second + 1, second + 2), [])
        assert.strictEqual((yield* events.list(around())).total, 3)
        assert.isNull((yield* events.list(around(false))).total)
      }).pipe(Effect.provide(layer)))

    it.effect("finds the newest wherever in a long range they are", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        const hour = 3_600_000
        const ages = [0, 299_999, 300_000, 300_001, hour, 13 * hour, 100 * hour, 400 * hour]
        yield* events.append({ number: 1, events: ages.map((age) => discover(second - age)) })
        const range = { start: new Date(second - 500 * hour), end: new Date(second) }
        for (const limit of [1, 2, 3, 7, 8, 9]) {
          const listed = yield* listAll(events, { ...range, limit, count: false })
          assert.deepStrictEqual(listed.map(({ event_time }) => second - Date.parse(event_time)), ages)
        }
      }).pipe(Effect.provide(layer)))

    it.effect("stores a batch over many days, and an empty one", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        const days = Array.from({ length: 150 }, (_, day) => discover(second + day * 86_400_000))
        yield* events.append({ number: 1, events: days, deduplicationToken: "days" })
        yield* events.append({ number: 1, events: days, deduplicationToken: "days" })
        yield* events.append({ number: 2, events: [] })
        const all = yield* events.list({ ...around(), end: new Date(second + 200 * 86_400_000) })
        assert.strictEqual(all.total, 150)
        assert.lengthOf(all.items, 150)
      }).pipe(Effect.provide(layer)))

    it.effect("stores what comes under one token once", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        const batch = { events: [discover(second), discover(second)] }
        yield* events.append({ ...batch, number: 1, deduplicationToken: "a" })
        yield* events.append({ ...batch, number: 2, deduplicationToken: "a" })
        yield* events.append({ ...batch, number: 3, deduplicationToken: "b" })
        yield* events.append({ ...batch, number: 4 })
        yield* events.append({ ...batch, number: 5 })
        const ids = (yield* events.list(around())).items.map(({ id }) => id)
        assert.deepStrictEqual(ids, ["5-1", "5-0", "4-1", "4-0", "3-1", "3-0", "1-1", "1-0"])
      }).pipe(Effect.provide(layer)))

    it.effect("reads the batches that are asked for, and no others", () =>
      Effect.gen(function*() {
        const events = yield* DhcpEvents
        const at = (millis: number) => new Date(millis).toISOString()
        const span = (number: number, from: number, to: number) => ({ number, from: at(from), to: at(to) })
        yield* events.append({ number: 3, events: [second + 5, second - 40 * 3_600_000].map(discover) })
        yield* events.append({ number: 4, events: [second].map(discover) })
        yield* events.append({ number: 7, events: [second + 1].map(discover) })
        const batches = [span(3, second - 40 * 3_600_000, second + 5), span(7, second + 1, second + 1)]
        const places = (query: Partial<BatchQuery>) =>
          Effect.map(
            events.batched({ batches, limit: 10, ...query }),
            (found) => found.map(({ batch, row }) => `${batch}-${row}`)
          )
        assert.deepStrictEqual(yield* places({}), ["3-0", "3-1", "7-0"])
        assert.deepStrictEqual(yield* places({ limit: 2 }), ["3-0", "3-1"])
        assert.deepStrictEqual(yield* places({ after: { batch: 3, row: 0 } }), ["3-1", "7-0"])
        assert.deepStrictEqual(yield* places({ after: { batch: 3, row: 1 } }), ["7-0"])
        assert.deepStrictEqual(yield* places({ batches: [] }), [])
      }).pipe(Effect.provide(layer)))

    it.effect("says for how long events are kept", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* (yield* DhcpEvents).retentionDays, 30)
      }).pipe(Effect.provide(layer)))
  })
