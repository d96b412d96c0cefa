import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import { MetricsClickHouse } from "../../src/layers/clickhouse/MetricsClickHouse.ts"
import { compileUniqueIps } from "../../src/layers/clickhouse/MetricsSql.ts"
import { sqlTime } from "../../src/layers/clickhouse/SqlParams.ts"
import { TrafficSamplesClickHouse } from "../../src/layers/clickhouse/TrafficSamplesClickHouse.ts"
import { clientOf } from "../../src/schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { AlarmFilter, TrafficFilter } from "../../src/schema/MetricsFilters.ts"
import { aggregates, metricProtocols, type MetricsQuery } from "../../src/schema/MetricsQuery.ts"
import { type MetricRequest, Metrics } from "../../src/services/Metrics.ts"
import { type TrafficSample, TrafficSamples } from "../../src/services/TrafficSampler.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { filterJson } from "../support/arbitraries/filter.ts"
import { ClickHouseTest } from "../support/engines.ts"
import { alarmCountsOf, trafficOf, type Transition, uniqueIpsOf } from "../support/metricsModel.ts"

const from = Date.parse("2096-01-29T00:00:00Z")
const to = Date.parse("2096-02-03T00:00:00Z")
const seed = 20_261_121

const events = fc.sample(dhcpEvent.filter(({ event_time }) => event_time < "2100"), { numRuns: 600, seed })
const clients = [...new Set(events.map(clientOf))]

const steps = [1, 7, 60, 90, 120, 300, 1800, 3600, 5400, 7200, 10_800, 86_400, 604_800]
const edge = fc.oneof(
  fc.integer({ min: from, max: to }),
  fc.integer({ min: from / 3_600_000, max: to / 3_600_000 }).map((hour) => hour * 3_600_000),
  fc.constantFrom(Date.parse("2096-01-31T08:00:00.000Z"), Date.parse("2096-01-31T08:00:00.001Z"))
)
const query: fc.Arbitrary<MetricsQuery> = fc.record({
  edges: fc.tuple(edge, edge).filter(([a, b]) => a !== b),
  step_s: fc.constantFrom(...steps),
  aggregate: fc.constantFrom(...aggregates),
  protocol: fc.constantFrom(...metricProtocols)
}).map(({ edges: [a, b], ...rest }) => ({
  ...rest,
  start_ms: Math.min(a, b),
  end_ms: Math.max(a, b),
  limit: 11_000,
  exclude_blocked: false
}))
const filter = fc.option(filterJson.map(Schema.decodeUnknownSync(DhcpEventFilter)), { nil: undefined, freq: 2 })
const request: fc.Arbitrary<MetricRequest<DhcpEventFilter>> = fc.oneof(
  fc.record({ query, filter: fc.constant(undefined), except: fc.constant([]) }),
  fc.record({ query, filter, except: fc.subarray(clients, { maxLength: 20 }) })
)

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
const transitions: ReadonlyArray<Transition> = fc.sample(
  fc.record({
    alarm: fc.nat(25),
    at_ms: fc.oneof(edge, fc.integer({ min: from, max: from + 5000 })),
    to_status: fc.constantFrom("firing" as const, "acknowledged" as const, "resolved" as const)
  }),
  { numRuns: 80, seed }
).map(({ alarm, ...rest }) => ({
  ...rest,
  alarm_id: uuid(alarm),
  rule_id: uuid(alarm % 3),
  client: `02:00:00:00:00:0${alarm % 5}`,
  severity: (["info", "warning", "critical"] as const)[alarm % 3]!
}))

const samples: ReadonlyArray<TrafficSample> = fc.sample(
  fc.record({ at_ms: edge, inbound_bytes: fc.nat(1e9), outbound_bytes: fc.nat(1e9), node: fc.constantFrom("a", "b") }),
  { numRuns: 100, seed }
).map((sample) => ({
  ...sample,
  target: "sandbox",
  inbound_packets: 1,
  outbound_packets: 1,
  blocked_bytes: 0,
  blocked_packets: 0
}))

const Stored = Layer.effectDiscard(Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  const traffic = yield* TrafficSamples
  for (let batch = 0; batch < 3; batch++) {
    yield* clickhouse.insert({
      table: "dhcp_events",
      rows: events.slice(batch * 200, batch * 200 + 200).map((event, row) => toRow(event, batch, row))
    })
  }
  yield* clickhouse.insert({
    table: "alarm_transitions",
    rows: transitions.map(({ at_ms, ...rest }) => ({ ...rest, at: sqlTime(new Date(at_ms).toISOString()) }))
  })
  for (const sample of samples) yield* traffic.append(sample)
  // A repeated sample adds nothing.
  yield* traffic.append(samples[0]!)
}))

const placeOf = (sample: TrafficSample) => `${sample.node} ${sample.at_ms}`
const unique = samples.filter((sample, index) =>
  samples.findIndex((other) => placeOf(other) === placeOf(sample)) === index
)

const Live = Stored.pipe(
  Layer.provideMerge(Layer.merge(MetricsClickHouse, TrafficSamplesClickHouse)),
  Layer.provideMerge(ClickHouseTest)
)

layer(Live, { timeout: "2 minutes" })("metrics on the real engine", (it) => {
  it.effect.prop(
    "count distinct addresses as their definition does, by rollup or not",
    [request],
    ([request]) =>
      Effect.gen(function*() {
        const { series } = yield* (yield* Metrics).uniqueIps(request)
        const expected = uniqueIpsOf(request, events)
        assert.deepStrictEqual(series, expected)
      }),
    { fastCheck: { numRuns: 150 } }
  )

  it.effect("read the rollup that the step allows, and the events where the question is narrower", () =>
    Effect.gen(function*() {
      const metrics = yield* Metrics
      const rollup = (step_s: number, more: Partial<MetricRequest<DhcpEventFilter>> = {}) =>
        Effect.map(
          metrics.uniqueIps({
            query: {
              start_ms: from,
              end_ms: to,
              step_s,
              limit: 1000,
              aggregate: "uniq",
              exclude_blocked: false,
              protocol: "all"
            },
            filter: undefined,
            except: [],
            ...more
          }),
          (answer) => answer.rollup
        )
      assert.strictEqual(yield* rollup(3600), "dhcp_unique_ips_1h")
      assert.strictEqual(yield* rollup(300), "dhcp_unique_ips_1m")
      assert.strictEqual(yield* rollup(90), "none")
      assert.strictEqual(yield* rollup(3600, { except: ["02:00:00:00:00:00"] }), "none")
    }))

  it.effect.prop(
    "count alarms as their definition does",
    [query, fc.subarray([0, 1, 2, 3, 4])],
    ([query, blocked]) =>
      Effect.gen(function*() {
        const request = { query, filter: undefined, except: blocked.map((n) => `02:00:00:00:00:0${n}`) }
        assert.deepStrictEqual(yield* (yield* Metrics).alarmStats(request), alarmCountsOf(request, transitions))
      }),
    { fastCheck: { numRuns: 40 } }
  )

  it.effect.prop("sum traffic up by steps", [query], ([query]) =>
    Effect.gen(function*() {
      const request = { query, filter: undefined, except: [] }
      assert.deepStrictEqual(yield* (yield* Metrics).traffic(request), trafficOf(request, unique))
    }), { fastCheck: { numRuns: 30 } })

  it.effect("filter alarms and traffic", () =>
    Effect.gen(function*() {
      const metrics = yield* Metrics
      const whole: MetricsQuery = {
        start_ms: from,
        end_ms: to + 1,
        step_s: 86_400,
        limit: 1000,
        aggregate: "sum",
        exclude_blocked: false,
        protocol: "all"
      }
      const critical = Schema.decodeSync(AlarmFilter)({ rules: [{ field: "severity", op: "eq", value: "critical" }] })
      assert.deepStrictEqual(
        yield* metrics.alarmStats({ query: whole, filter: critical, except: [] }),
        alarmCountsOf(
          { query: whole, filter: undefined, except: [] },
          transitions.filter((t) => t.severity === "critical")
        )
      )
      const ofRule = Schema.decodeSync(AlarmFilter)({ rules: [{ field: "rule_id", op: "eq", value: uuid(1) }] })
      assert.deepStrictEqual(
        yield* metrics.alarmStats({ query: whole, filter: ofRule, except: [] }),
        alarmCountsOf({ query: whole, filter: undefined, except: [] }, transitions.filter((t) => t.rule_id === uuid(1)))
      )
      const node = Schema.decodeSync(TrafficFilter)({ rules: [{ field: "node", op: "eq", value: "a" }] })
      assert.deepStrictEqual(
        yield* metrics.traffic({ query: whole, filter: node, except: [] }),
        trafficOf({ query: whole, filter: undefined, except: [] }, unique.filter((sample) => sample.node === "a"))
      )
    }))

  it.effect("tell many addresses within the error that is documented", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const metrics = yield* Metrics
      const addresses = 300_000
      yield* clickhouse.command({
        query: `INSERT INTO dhcp_events (event_time, protocol, message_type, client, client_mac, assigned_ip)
          SELECT toDateTime64('2096-03-01 00:00:00', 3, 'UTC') + toIntervalSecond(number % 7200), 'dhcpv4', 'ack',
            '02:00:00:00:00:00', '02:00:00:00:00:00',
            toIPv6('::ffff:' || IPv4NumToString(toUInt32(number * 2654435761)))
          FROM numbers(${addresses})`
      })
      const start_ms = Date.parse("2096-03-01T00:00:00Z")
      for (
        const [step_s, rollup, exact] of [
          [7200, "dhcp_unique_ips_1h", addresses],
          [1800, "dhcp_unique_ips_1m", addresses / 4]
        ] as const
      ) {
        const answer = yield* metrics.uniqueIps({
          query: {
            start_ms,
            end_ms: start_ms + 86_400_000,
            step_s,
            limit: 1000,
            aggregate: "uniq",
            exclude_blocked: false,
            protocol: "all"
          },
          filter: undefined,
          except: []
        })
        assert.strictEqual(answer.rollup, rollup)
        const [[, value] = [0, 0]] = answer.series[0]!.points
        assert.approximately(value, exact, exact * 0.02)
      }
    }))

  it.effect("bind what they are asked and put nothing of it into the text of the statement", () =>
    Effect.sync(() => {
      const hostile = "'; DROP TABLE dhcp_events --"
      const { query: text } = compileUniqueIps(
        {
          query: fc.sample(query, { numRuns: 1, seed })[0]!,
          filter: Schema.decodeSync(DhcpEventFilter)({ rules: [{ field: "hostname", op: "eq", value: hostile }] }),
          except: [hostile]
        },
        { rollup: "none", inner: undefined, edges: [{ from_ms: from, to_ms: to }], interval_s: 60 }
      )
      assert.notInclude(text, "DROP")
    }))
})
