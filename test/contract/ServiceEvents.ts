import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { type EventDraft, eventTypes, ServiceEvent, severities } from "../../src/schema/ServiceEvent.ts"
import { type EventPosition, type EventQuery, ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { ServiceEventsMemory } from "../layers/ServiceEventsMemory.ts"
import { eventDraft } from "../support/arbitraries/serviceEvent.ts"
import { encoder, walk } from "./pages.ts"

const json = encoder(ServiceEvent)

/** By the real clock: transactions of other tests on one server hold back for a moment what is read. */
export const pause = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))

/** What comes after a position, once as much as this is there. */
const readOn = (after: EventPosition | undefined, least: number) =>
  Effect.flatMap(ServiceEvents, ({ read }) => read(after, 1000)).pipe(
    Effect.filterOrFail((found) => found.length >= least, () => "not yet"),
    Effect.retry({ times: 400, while: () => Effect.as(pause, true) }),
    Effect.orDie
  )

/** Ids are made by chance, and subjects carry the salt of a script. */
const shown = (salt: string) => (event: ServiceEvent) => {
  const { id: _, subject, ...rest } = json(event) as Record<string, unknown>
  return JSON.stringify({ ...rest, subject: String(subject).replace(salt, "") })
}

const queries = fc.record({
  type: fc.option(fc.constantFrom(...eventTypes), { nil: undefined }),
  min_severity: fc.option(fc.constantFrom(...severities), { nil: undefined }),
  hidden: fc.constantFrom(undefined, eventTypes.filter((type) => type.startsWith("a"))),
  start: fc.option(fc.nat(100), { nil: undefined }),
  end: fc.option(fc.nat(100), { nil: undefined })
})

const at = (second: number | undefined) =>
  second === undefined ? undefined : DateTime.unsafeMake(3_979_000_000_000 + second * 1000)

const play = Effect.fnUntraced(function*(
  batches: ReadonlyArray<ReadonlyArray<EventDraft>>,
  query: typeof queries extends fc.Arbitrary<infer Q> ? Q : never,
  salt: string
) {
  const events = yield* ServiceEvents
  const begin = yield* events.end
  for (const batch of batches) {
    yield* events.publish(batch.map((draft) => ({ ...draft, subject: salt + draft.subject })))
  }
  const read = yield* readOn(begin, batches.flat().length)
  const listed: Array<string> = []
  for (const subject of ["a/1", "a/2", "b/1"]) {
    const asked: Omit<EventQuery, "limit"> = {
      ...query,
      subject: salt + subject,
      start: at(query.start),
      end: at(query.end)
    }
    const pages = yield* walk(3, (page) => events.list({ ...asked, ...page }))
    // Events of one time are in the order of their ids, which are made by chance.
    listed.push(...pages.flatMap(({ items }) => items).map(shown(salt)).sort(), String(pages[0]!.total))
  }
  return { read: read.map(({ event }) => shown(salt)(event)), listed }
})

/** What every implementation of `ServiceEvents` keeps; nobody else may use its database meanwhile. */
export const serviceEventsContract = (name: string, layer: Layer.Layer<ServiceEvents>, numRuns: number) =>
  describe(`ServiceEvents contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "events are read in the order of their publishing, and listed, as by the twin in memory",
        [fc.array(fc.array(eventDraft, { maxLength: 3 }), { maxLength: 5 }), queries],
        ([batches, query]) =>
          Effect.gen(function*() {
            const expected = yield* Effect.provide(play(batches, query, ""), Layer.fresh(ServiceEventsMemory))
            assert.deepStrictEqual(yield* play(batches, query, `${randomUUID()}/`), expected)
            assert.deepStrictEqual(
              expected.read,
              batches.flat().map((draft) => shown("")({ ...draft, ...envelope } as ServiceEvent))
            )
          }),
        { fastCheck: { numRuns, endOnFailure: true } }
      )

      it.effect("whoever reads on from each position in turn reads everything once", () =>
        Effect.gen(function*() {
          const events = yield* ServiceEvents
          const begin = yield* events.end
          for (let number = 0; number < 7; number++) yield* events.publish([test(`s/${number}`)])
          yield* readOn(begin, 7)
          const seen: Array<string> = []
          for (let after = begin;;) {
            const [next] = yield* events.read(after, 1)
            if (next === undefined) break
            seen.push(next.event.subject)
            assert.deepStrictEqual(yield* events.positionOf(next.event.id), Option.some(next.position))
            after = next.position
          }
          assert.deepStrictEqual(seen, Array.from({ length: 7 }, (_, number) => `s/${number}`))
          assert.isTrue(Option.isNone(yield* events.positionOf(randomUUID())))
        }))

      it.effect("what is pruned is gone, and nothing else", () =>
        Effect.gen(function*() {
          const events = yield* ServiceEvents
          yield* events.publish([test("p/1", 10), test("p/2", 20)])
          yield* events.prune(at(20)!)
          assert.strictEqual((yield* events.list({ limit: 9, subject: "p/1" })).total, 0)
          assert.strictEqual((yield* events.list({ limit: 9, subject: "p/2" })).total, 1)
        }))
    })
  })

const envelope = {
  specversion: "1.0",
  id: randomUUID(),
  source: "/netops",
  datacontenttype: "application/json"
} as const

const test = (subject: string, second = 50): EventDraft => ({
  type: "notification.test",
  subject,
  severity: "info",
  time: at(second)!,
  data: { message: "m" }
})
