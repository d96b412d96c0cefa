import type { HttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer, Redacted, Schema, TestClock } from "effect"
import { Action, ActionId } from "../../src/schema/Action.ts"
import { AlarmStatsAnswer, RatioAnswer, UniqueIpsAnswer } from "../../src/schema/MetricsAnswer.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { metricsQueriesPerUser } from "../../src/services/MetricsAnswers.ts"
import { AutomationState } from "../layers/AutomationState.ts"
import { ObservedMemory } from "../layers/MetricsMemory.ts"
import { type Answer, assertProblem, call } from "../support/client.ts"
import { beginning, Callers, TestApi, testApi } from "../support/testApi.ts"

const unique = "/api/metrics/network-health/unique-ips"
const alarms = "/api/metrics/automation/alarm-stats"
const ratio = "/api/metrics/firewall/inbound-outbound-ratio"

const now = DateTime.toEpochMillis(beginning)
const at = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString()

const strict = { onExcessProperty: "error" } as const

const get = (
  path: string,
  parameters: Readonly<Record<string, string>> = {}
): Effect.Effect<Answer, never, Callers | HttpClient.HttpClient> =>
  Effect.flatMap(
    Callers,
    ({ token }) => call("GET", `${path}?${new URLSearchParams(parameters)}`, { token: token.auditor })
  )

const line = (mac: number, secondsAgo: number, ip: string, protocol = "dhcpv4") =>
  JSON.stringify({
    event_time: at(secondsAgo),
    protocol,
    message_type: protocol === "dhcpv4" ? "ack" : "reply",
    client_mac: `02:00:00:00:00:0${mac}`,
    hostname: `host-${mac}`,
    assigned_ip: ip
  })

const ingest = Effect.gen(function*() {
  const { token } = yield* Callers
  const answer: Answer = yield* call("POST", "/api/dhcp/events", {
    token: token.operator,
    headers: { "content-type": "application/x-ndjson" },
    body: [
      line(1, 100, "192.0.2.1"),
      line(1, 99, "192.0.2.1"),
      line(2, 98, "192.0.2.2"),
      line(2, 4000, "192.0.2.3"),
      line(3, 97, "2001:db8::1", "dhcpv6")
    ].join("\n")
  })
  assert.strictEqual(answer.json.accepted, 5)
})

const block = (client: string) =>
  Effect.map(AutomationState, ({ actions }) => {
    const id = ActionId.make("7d4c1a0e-0000-4000-8000-000000000001")
    actions.set(
      id,
      new Action({
        id,
        type: "block",
        tag: null,
        client,
        client_mac: client,
        status: "active",
        reason: "test",
        origin: { kind: "user", id: "1" },
        created_at: beginning,
        expires_at: null,
        ended_at: null,
        synced_at: null,
        enforced_at: []
      })
    )
  })

describe("unique addresses", () => {
  it.effect("come as series of points with the query that was answered", () =>
    Effect.gen(function*() {
      yield* ingest
      const { json, status } = yield* get(unique, { step: "1h", end: "now" })
      assert.strictEqual(status, 200)
      assert.isTrue(Schema.is(UniqueIpsAnswer, strict)(json))
      assert.deepStrictEqual(json.data.series, [
        { name: "dhcpv4", tags: { protocol: "dhcpv4" }, points: [[now - 7_200_000, 1], [now - 3_600_000, 2]] },
        { name: "dhcpv6", tags: { protocol: "dhcpv6" }, points: [[now - 3_600_000, 1]] }
      ])
      assert.deepStrictEqual(json.metadata, {
        data_points: 3,
        series_count: 2,
        execution_time_ms: 0,
        materialized_view_used: "none",
        cache_hit: false,
        query: {
          Start: at(86_400),
          End: at(0),
          Step: "1h",
          Limit: 1000,
          Aggregate: "uniq",
          Format: "timeseries",
          Filters: "",
          ExcludeBlocked: false,
          Protocol: "all"
        },
        warnings: [],
        protocol_filter: "all"
      })
    }).pipe(Effect.provide(TestApi)))

  it.effect("leave out what is filtered, of the other protocol, or blocked", () =>
    Effect.gen(function*() {
      yield* ingest
      const values = (parameters: Readonly<Record<string, string>>) =>
        Effect.map(get(unique, { step: "1d", start: "now-2d", ...parameters }), ({ json }) =>
          json.data.series.map((one: any) => [
            one.name,
            one.points.map(([, value]: [number, number]) =>
              value
            )
          ]))
      const both = [["dhcpv4", [3]], ["dhcpv6", [1]]]
      assert.deepStrictEqual(yield* values({}), both)
      assert.deepStrictEqual(yield* values({ protocol: "dhcpv6" }), [["dhcpv6", [1]]])
      const filters = JSON.stringify({ rules: [{ field: "hostname", op: "eq", value: "HOST-1" }] })
      assert.deepStrictEqual(yield* values({ filters }), [["dhcpv4", [1]]])
      const { json } = yield* get(unique, { filters })
      assert.strictEqual(
        json.metadata.query.Filters,
        `{"match":"all","rules":[{"field":"hostname","op":"eq","value":"HOST-1"}]}`
      )
      yield* block("02:00:00:00:00:02")
      assert.deepStrictEqual(yield* values({ exclude_blocked: "true" }), [["dhcpv4", [1]], ["dhcpv6", [1]]])
      assert.deepStrictEqual(yield* values({ limit: "0" }), both)
    }).pipe(Effect.provide(TestApi)))

  it.effect("give the newest points where there are more than the limit, and say so", () =>
    Effect.gen(function*() {
      yield* ingest
      const { json } = yield* get(unique, { step: "1h", limit: "1", protocol: "dhcpv4" })
      assert.deepStrictEqual(json.data.series[0].points, [[now - 3_600_000, 2]])
      assert.strictEqual(json.metadata.data_points, 1)
      assert.deepStrictEqual(json.metadata.warnings, ["limit: only the newest 1 points of a series are given"])
    }).pipe(Effect.provide(TestApi)))

  it.effect("say once more what they said, as long as it is fresh", () =>
    Effect.gen(function*() {
      const observed = yield* ObservedMemory
      const first = yield* get(unique, { step: "30s" })
      yield* TestClock.adjust("29 seconds")
      const second = yield* get(unique, { step: "30" })
      assert.deepStrictEqual([first.json.metadata.cache_hit, second.json.metadata.cache_hit], [false, true])
      assert.deepStrictEqual(second.json.metadata.query, first.json.metadata.query)
      assert.strictEqual(observed.computed, 1)
      yield* TestClock.adjust("1 seconds")
      assert.isFalse((yield* get(unique, { step: "30s" })).json.metadata.cache_hit)
      assert.strictEqual(observed.computed, 2)
    }).pipe(Effect.provide(TestApi)))

  it.effect("are refused where a parameter can't be read, and name it", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<readonly [string, string]> = [
        ["start", "yesterday"],
        ["end", "now+1h"],
        ["step", "5x"],
        ["limit", "many"],
        ["limit", "1.5"],
        ["aggregate", "median"],
        ["format", "csv"],
        ["filters", "{"],
        ["filters", `{"rules":[{"field":"nothing","op":"eq","value":"x"}]}`],
        ["exclude_blocked", "maybe"],
        ["protocol", "tcp"],
        ["stepp", "5m"]
      ]
      for (const [name, value] of wrong) {
        const problem = assertProblem(yield* get(unique, { [name]: value }), 400, "invalid-request")
        assert.isTrue(
          problem.errors.some((error: any) => error.in === "query" && error.pointer.startsWith(`/${name}`)),
          name
        )
      }
      assertProblem(yield* get(unique, { start: "now", end: "now-1h" }), 400, "invalid-request")
    }).pipe(Effect.provide(TestApi)))
})

const gate = Deferred.unsafeMake<void>(undefined as never)

const Slow = Layer.effect(
  Metrics,
  Effect.gen(function*() {
    const metrics = yield* Metrics
    return Metrics.of({
      ...metrics,
      alarmStats: (request) => Effect.zipRight(Deferred.await(gate), metrics.alarmStats(request))
    })
  })
)

describe("metrics", () => {
  it.effect("of alarms are four counts, of traffic one ratio", () =>
    Effect.gen(function*() {
      const { samples, transitions } = yield* ObservedMemory
      const transition = { rule_id: "r", client: "02:00:00:00:00:01", severity: "critical" as const }
      transitions.push(
        { ...transition, alarm_id: "a", at_ms: now - 1000, to_status: "firing" },
        { ...transition, alarm_id: "b", at_ms: now - 2000, to_status: "resolved" }
      )
      const stats = (yield* get(alarms, { protocol: "dhcpv4", aggregate: "uniq" })).json
      assert.isTrue(Schema.is(AlarmStatsAnswer, strict)(stats))
      const unit = "alarms"
      assert.deepStrictEqual(stats.data, {
        acknowledged: { value: 0, unit },
        firing: { value: 1, unit },
        resolved: { value: 1, unit },
        total: { value: 2, unit }
      })
      assert.strictEqual(stats.metadata.query.Aggregate, "count")
      assert.deepStrictEqual(stats.metadata.warnings.map((text: string) => text.split(":")[0]), [
        "aggregate",
        "protocol"
      ])

      const none = (yield* get(ratio)).json
      assert.isTrue(Schema.is(RatioAnswer, strict)(none))
      assert.deepStrictEqual(none.data, { value: null, min: 0, max: 0, unit: "ratio" })
      const sample = {
        node: "n",
        target: "t",
        inbound_packets: 0,
        outbound_packets: 0,
        blocked_bytes: 0,
        blocked_packets: 0
      }
      samples.push(
        { ...sample, at_ms: now - 90_000, inbound_bytes: 300, outbound_bytes: 100 },
        { ...sample, at_ms: now - 30_000, inbound_bytes: 100, outbound_bytes: 100 },
        { ...sample, at_ms: now - 10_000, inbound_bytes: 100, outbound_bytes: 0 }
      )
      const some = (yield* get(ratio, { step: "60s" })).json
      assert.deepStrictEqual(some.data, { value: 2.5, min: 2, max: 3, unit: "ratio" })
      assert.deepStrictEqual([some.metadata.data_points, some.metadata.series_count], [2, 1])
      assert.notProperty(some.metadata, "protocol_filter")
    }).pipe(Effect.provide(TestApi)))

  it.effect("are asked once for equal queries at once, and by one user only so many", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const observed = yield* ObservedMemory
      const ask = (limit: number, as: Redacted.Redacted = token.viewer) =>
        call("GET", `${alarms}?limit=${limit}`, { token: as })
      const different = Array.from({ length: metricsQueriesPerUser }, (_, index) => 20 + index)
      const equal = different.map(() => 20)
      const many = yield* Effect.forEach([...different, ...equal], (limit) => Effect.fork(ask(limit)))
      yield* Effect.repeatN(Effect.yieldNow(), 1000)
      const refused = yield* ask(8)
      assertProblem(refused, 429, "too-many-queries")
      assert.strictEqual(refused.headers["retry-after"], "1")
      const other = yield* Effect.fork(ask(8, token.auditor))
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of many) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      assert.strictEqual((yield* Fiber.join(other)).status, 200)
      assert.strictEqual(observed.computed, metricsQueriesPerUser + 1)
      assert.strictEqual((yield* ask(9)).status, 200)
    }).pipe(Effect.provide(testApi(Slow))))
})
