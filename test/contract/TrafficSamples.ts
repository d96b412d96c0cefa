import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer } from "effect"
import { Metrics } from "../../src/services/Metrics.ts"
import { type TrafficSample, TrafficSamples } from "../../src/services/TrafficSampler.ts"
import { trafficOf } from "../support/metricsModel.ts"

const begin = Date.parse("2026-11-01T00:00:00Z")

const count = fc.maxSafeNat().map((octets) => octets % 2 ** 40)

/** Samples of ten minutes, some of them of one node and time: those are one sample that was sent again. */
const samples = fc.uniqueArray(
  fc.record<TrafficSample>({
    at_ms: fc.nat(600_000).map((ms) => begin + ms),
    node: fc.constantFrom("a", "it's \\ \"b\""),
    target: fc.constantFrom("host", "netns:x"),
    inbound_bytes: count,
    outbound_bytes: count,
    inbound_packets: count,
    outbound_packets: count,
    blocked_bytes: count,
    blocked_packets: count
  }),
  { maxLength: 12, selector: ({ at_ms, node, target }) => `${at_ms} ${node} ${target}` }
)

/** What every implementation of `TrafficSamples` keeps, as `Metrics` tells it; the layer is empty for each run. */
export const trafficSamplesContract = (
  name: string,
  layer: Layer.Layer<TrafficSamples | Metrics>,
  numRuns: number
) =>
  describe(`TrafficSamples contract: ${name}`, () => {
    it.effect.prop(
      "every sample counts in the step of its time, and once however often it is sent",
      [samples, fc.constantFrom(1, 10, 60, 3600), fc.array(fc.nat(11), { maxLength: 5 })],
      ([sent, step_s, again]) =>
        Effect.gen(function*() {
          const { append } = yield* TrafficSamples
          const { traffic } = yield* Metrics
          for (const sample of sent) yield* append(sample)
          for (const index of again) if (sent[index] !== undefined) yield* append(sent[index])
          const query = {
            start_ms: begin,
            end_ms: begin + 500_000,
            step_s,
            limit: 1000,
            aggregate: "sum" as const,
            exclude_blocked: false,
            protocol: "all" as const
          }
          const request = { query, filter: undefined, except: [] }
          assert.deepStrictEqual(yield* traffic(request), trafficOf(request, sent))
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns } }
    )
  })
