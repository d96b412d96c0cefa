import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer, Schema } from "effect"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { clientOf } from "../../src/schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { aggregates, metricProtocols, type MetricsQuery } from "../../src/schema/MetricsQuery.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { uniqueIpsOf } from "../support/metricsModel.ts"

const hour = 3_600_000
const now = Math.floor(Date.now() / hour) * hour

const address = (n: number) => `192.0.2.${n}`

/** Events of the last two days, of a few clients with a few addresses. */
const event: fc.Arbitrary<DhcpEvent> = fc.record({
  event_time: fc.nat(48 * 60).map((minutes) => new Date(now - minutes * 60_000).toISOString()),
  protocol: fc.constantFrom("dhcpv4" as const, "dhcpv6" as const),
  client: fc.nat(3),
  hostname: fc.constantFrom("one", "two"),
  assigned: fc.nat(9),
  requested: fc.nat(9)
}).map(({ assigned, client, event_time, hostname, protocol, requested }) => ({
  event_time,
  protocol,
  message_type: "request",
  client_mac: `02:00:00:00:00:0${client}`,
  hostname,
  ...(assigned === 0 ? {} : { assigned_ip: protocol === "dhcpv4" ? address(assigned) : `2001:db8::${assigned}` }),
  ...(requested === 0 ? {} : { requested_ip: protocol === "dhcpv4" ? address(requested) : `2001:db8::${requested}` })
} as DhcpEvent))

const edge = fc.nat(49 * 60).map((minutes) => now + hour - minutes * 60_000)
const query: fc.Arbitrary<MetricsQuery> = fc.record({
  edges: fc.tuple(edge, edge).filter(([a, b]) => a !== b),
  step_s: fc.constantFrom(60, 90, 300, 3600, 7200, 86_400),
  aggregate: fc.constantFrom(...aggregates),
  protocol: fc.constantFrom(...metricProtocols)
}).map(({ edges: [a, b], ...rest }) => ({
  ...rest,
  start_ms: Math.min(a, b),
  end_ms: Math.max(a, b),
  limit: 1000,
  exclude_blocked: false
}))

const filter = Schema.decodeUnknownSync(DhcpEventFilter)({ rules: [{ field: "hostname", op: "eq", value: "ONE" }] })

/** What every implementation of `Metrics` keeps; its layer is built anew for each test, without events. */
export const metricsContract = (
  name: string,
  layer: Layer.Layer<Metrics | DhcpEvents>,
  rollups: boolean,
  numRuns: number
) =>
  describe(`Metrics contract: ${name}`, () => {
    it.effect("answers as the definition of each metric says, filtered and not", () =>
      Effect.gen(function*() {
        const { append } = yield* DhcpEvents
        const { uniqueIps } = yield* Metrics
        const events = fc.sample(event, { numRuns: 300, seed: 20_261_121 })
        for (let batch = 0; batch < 3; batch++) {
          yield* append({ number: batch + 1, events: events.slice(batch * 100, batch * 100 + 100) })
        }
        const clients = [...new Set(events.map(clientOf))]
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(
              query,
              fc.constantFrom(undefined, filter),
              fc.subarray(clients, { maxLength: 2 }),
              (query, filter, except) =>
                Effect.runPromise(Effect.gen(function*() {
                  const request = { query, filter, except }
                  const answer = yield* uniqueIps(request)
                  assert.deepStrictEqual(answer.series, uniqueIpsOf(request, events))
                  const narrow = filter !== undefined || except.length > 0
                  if (narrow || !rollups) assert.strictEqual(answer.rollup, "none")
                  else if (query.step_s === 90) assert.strictEqual(answer.rollup, "none")
                  else assert.match(answer.rollup, /^(?:none|dhcp_unique_ips_1[mh])$/)
                }))
            ),
            { numRuns }
          )
        )
      }).pipe(Effect.provide(layer)))

    it.effect("of nothing is nothing", () =>
      Effect.gen(function*() {
        const metrics = yield* Metrics
        const [query_] = fc.sample(query, 1)
        const request = { query: query_!, filter: undefined, except: [] }
        assert.deepStrictEqual((yield* metrics.uniqueIps(request)).series, [])
        assert.deepStrictEqual(yield* metrics.traffic(request), [])
        assert.deepStrictEqual(yield* metrics.alarmStats(request), {
          firing: 0,
          acknowledged: 0,
          resolved: 0,
          total: 0
        })
        assert.strictEqual(yield* metrics.eventsKeptDays, 30)
      }).pipe(Effect.provide(layer)))
  })
