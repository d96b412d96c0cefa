import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer } from "effect"
import type { Detector } from "../../src/schema/AutomationRule.ts"
import { clientOfDetection, type Window } from "../../src/schema/Detection.ts"
import { clientOf, type DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { shiftEvent } from "../../src/services/capture/shiftToNow.ts"
import { reaches } from "../../src/services/DetectionRules.ts"
import { Detections } from "../../src/services/Detections.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { detector, traffic, trafficLength, windowOffsets } from "../support/arbitraries/detector.ts"

/** Counts what a test stores: each traffic has a stretch of time and a batch number of its own, in the last days. */
export const makeStretches = () => {
  const anchor = Math.floor(Date.now() / trafficLength) * trafficLength
  let count = 0
  return () => {
    count++
    return { batch: count, startsAt: anchor - count * 2 * trafficLength }
  }
}

const sample = fc.record({
  events: traffic,
  cases: fc.array(fc.tuple(detector, windowOffsets), { minLength: 20, maxLength: 20 })
})

export interface Case {
  readonly events: ReadonlyArray<DhcpEvent>
  readonly rule: Detector
  readonly window: Window
}

/** Runs `check` on random rules and windows over random traffic that `store` has taken. */
export const forAnyDetector = <R>(
  numRuns: number,
  store: (batch: number, events: ReadonlyArray<DhcpEvent>) => Effect.Effect<void, unknown, R>,
  check: (one: Case) => Effect.Effect<void, unknown, R>
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) => {
    const stretch = makeStretches()
    const run = Effect.provide(runtime)
    return Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(sample, ({ cases, events }) => {
          const { batch, startsAt } = stretch()
          const shifted = events.map((event) => shiftEvent(event, startsAt))
          const checks = Effect.forEach(cases, ([rule, [start, end]]) =>
            check({
              events: shifted,
              rule,
              window: { start: new Date(startsAt + start), end: new Date(startsAt + end) }
            }))
          return Effect.runPromise(run(Effect.asVoid(Effect.zipRight(store(batch, shifted), checks))))
        }),
        { numRuns, endOnFailure: true }
      )
    )
  })

const unlimited = (rule: Detector): Detector => ({ ...rule, max_detections: 10_000 })
const everyClient: Detector = {
  protocol: "both",
  threshold: { min_requests: 1, operator: "and" },
  max_detections: 10_000
}
const discover = (event_time: string): DhcpEvent => ({
  event_time,
  protocol: "dhcpv4",
  message_type: "discover",
  client_mac: "02:bd:00:00:00:01" as NonNullable<DhcpEvent["client_mac"]>
})

/** What every implementation of `Detections` keeps; the layer has no events yet. */
export const detectionsContract = (name: string, layer: Layer.Layer<Detections | DhcpEvents>, numRuns: number) =>
  describe(`Detections contract: ${name}`, () => {
    it.effect("detects who reaches the threshold, those with most requests first, up to the limit", () =>
      Effect.gen(function*() {
        const detections = yield* Detections
        const events = yield* DhcpEvents
        yield* forAnyDetector(
          numRuns,
          (number, all) => events.append({ number, events: all }),
          ({ rule, window }) =>
            Effect.gen(function*() {
              const all = yield* detections.detect(unlimited(rule), window, [])
              const { rows, total } = yield* detections.detect(rule, window, [])
              assert.strictEqual(total, all.total)
              assert.lengthOf(all.rows, total)
              assert.deepStrictEqual(rows, all.rows.slice(0, rule.max_detections))
              assert.isTrue(all.rows.every((row) => reaches(rule.threshold, row)))
              assert.isTrue(
                all.rows.every((row, index) => index === 0 || row.TotalRequests <= all.rows[index - 1]!.TotalRequests)
              )
              const keys = all.rows.map((row) => `${row.Protocol} ${clientOfDetection(row)}`)
              assert.lengthOf(new Set(keys), total)
            })
        )
      }).pipe(Effect.provide(layer)))

    it.effect("splits what it detects between all but some clients and these alone", () =>
      Effect.gen(function*() {
        const detections = yield* Detections
        const events = yield* DhcpEvents
        yield* forAnyDetector(
          Math.ceil(numRuns / 2),
          (number, all) => events.append({ number, events: all }),
          ({ events, rule: limited, window }) =>
            Effect.gen(function*() {
              const rule = unlimited(limited)
              const some = [...new Set(events.map(clientOf))].filter((_, index) => index % 2 === 0)
              const { rows } = yield* detections.detect(rule, window, [])
              const others = yield* detections.detect(rule, window, some)
              const these = yield* detections.detectOnly(rule, window, some)
              assert.deepStrictEqual(others.rows, rows.filter((row) => !some.includes(clientOfDetection(row))))
              assert.deepStrictEqual(these.rows, rows.filter((row) => some.includes(clientOfDetection(row))))
              assert.strictEqual(others.total + these.total, rows.length)
              assert.strictEqual((yield* detections.detectOnly(rule, window, [])).total, 0)
            })
        )
      }).pipe(Effect.provide(layer)))

    it.effect("looks after the start up to and including the end", () =>
      Effect.gen(function*() {
        const detections = yield* Detections
        const events = yield* DhcpEvents
        const at = Math.floor(Date.now() / 1000) * 1000
        const instants = [at - 1, at, at + 1].map((millis) => discover(new Date(millis).toISOString()))
        yield* events.append({ number: 1, events: instants })
        const requests = (start: number, end: number) =>
          Effect.map(
            detections.detect(everyClient, { start: new Date(start), end: new Date(end) }, []),
            ({ rows }) => rows.map(({ TotalRequests }) => TotalRequests)
          )
        assert.deepStrictEqual(yield* requests(at - 1, at), [1])
        assert.deepStrictEqual(yield* requests(at - 2, at + 1), [3])
        assert.deepStrictEqual(yield* requests(at - 1, at + 1), [2])
        assert.deepStrictEqual(yield* requests(at + 1, at + 2), [])
      }).pipe(Effect.provide(layer)))
  })
