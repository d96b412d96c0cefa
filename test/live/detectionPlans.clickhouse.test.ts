import { assert, layer } from "@effect/vitest"
import { Clock, Effect, FastCheck as fc, Layer, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { DetectionsClickHouse } from "../../src/layers/clickhouse/DetectionsClickHouse.ts"
import { compileDetection } from "../../src/layers/clickhouse/DetectionSql.ts"
import { toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import boundActivity from "../../src/layers/clickhouse/migrations/0006_bound_activity_by_windows.ts"
import type { Detector } from "../../src/schema/AutomationRule.ts"
import type { Window } from "../../src/schema/Detection.ts"
import { messageTypes } from "../../src/schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { shiftEvent } from "../../src/services/capture/shiftToNow.ts"
import { type DetectionPlan, detectionPlans, rollupsSuffice } from "../../src/services/DetectionPlan.ts"
import { Detections } from "../../src/services/Detections.ts"
import { detector, traffic } from "../support/arbitraries/detector.ts"
import { instant, instantDays } from "../support/arbitraries/instant.ts"
import { ClickHouseTest } from "../support/engines.ts"

const live = DetectionsClickHouse.pipe(Layer.provideMerge(ClickHouseTest), Layer.orDie)

const day = 86_400_000
const today = Math.floor(Date.now() / day) * day
const base = today - (instantDays + 1) * day

const decodeFilter = Schema.decodeUnknownSync(DhcpEventFilter)
const filters = [
  { rules: [] },
  { rules: [{ field: "client_mac", op: "exists", negate: true }] },
  {
    match: "any",
    rules: [{ field: "client_mac", op: "oui", value: "02:bd:00" }, { field: "protocol", op: "eq", value: "dhcpv6" }]
  },
  {
    rules: [{ field: "client", op: "ne", value: "02:bd:00:00:00:01" }, {
      field: "client_mac",
      op: "ends_with",
      value: "02"
    }]
  }
].map((json) => decodeFilter(json))

/** Rules that rollups can answer. */
const plainRule: fc.Arbitrary<Detector> = fc.tuple(
  detector,
  fc.option(fc.constantFrom(...filters), { nil: undefined }),
  fc.constantFrom(undefined, messageTypes)
).map(([rule, filter, message_types]) => ({
  ...rule,
  filter,
  message_types,
  exclude: { ...rule.exclude, subnets: [] },
  max_detections: 10_000
}))

const windows = fc.tuple(instant, instant).filter(([a, b]) => a !== b).map(([a, b]): Window => ({
  start: new Date(base + Math.min(a, b)),
  end: new Date(base + Math.max(a, b))
}))

/** Some hundred events of few clients within some days, many of them where hours and days meet. */
const spread = traffic.filter((events) => events.length >= 200).chain((events) =>
  fc.array(instant, { minLength: events.length, maxLength: events.length, size: "max" }).map((instants) =>
    events.map((event, index) =>
      shiftEvent({ ...event, event_time: new Date(0).toISOString() }, base + instants[index]!)
    )
  )
)

const store = (batch: number, seed: number) =>
  Effect.flatMap(ClickHouse, (clickhouse) =>
    clickhouse.insert({
      table: "dhcp_events",
      rows: fc.sample(spread, { numRuns: 3, seed }).flat().map((event, row) => toRow(event, batch, row))
    }))

const answer = (rule: Detector, window: Window, plan?: DetectionPlan) =>
  Effect.flatMap(ClickHouse, (clickhouse) =>
    clickhouse.query({
      ...compileDetection(rule, window, { except: ["aa:bb:cc:00:00:03"] }, rule.max_detections, plan),
      settings: { exact_rows_before_limit: 1 }
    }))

/** Holds every plan of random rules and windows to the plan by events; gives how many clients the plans detected. */
const comparePlans = (seed: number) =>
  Effect.gen(function*() {
    let detected = 0
    for (const [rule, window] of fc.sample(fc.tuple(plainRule, windows), { numRuns: 40, seed })) {
      assert.isTrue(rollupsSuffice(rule))
      const [, ...plans] = detectionPlans(rule, window, base)
      const expected = yield* answer(rule, window)
      for (const plan of plans) {
        const { rows, rowsBeforeLimit } = yield* answer(rule, window, plan)
        assert.deepStrictEqual(rows, expected.rows)
        assert.strictEqual(rowsBeforeLimit, expected.rowsBeforeLimit)
        detected += rows.length
      }
    }
    return detected
  })

/** Traffic of 400 clients, of which each sends a hundred times a day, for days up to now. */
const busyDays = (days: number) =>
  Effect.flatMap(ClickHouse, (clickhouse) =>
    clickhouse.command({
      query: `INSERT INTO dhcp_events (event_time, protocol, message_type, client, client_mac, requested_ip, batch, row)
        SELECT fromUnixTimestamp64Milli(toInt64({now:Int64} - number * {each:Int64}), 'UTC'), 'dhcpv4', 'request',
          concat('02:bb:00:00:0', toString(number % 4), ':', leftPad(toString(intDiv(number, 4) % 100), 2, '0')) AS mac, mac,
          toIPv6(concat('::ffff:10.0.0.', toString(number % 250))), 100, number
        FROM numbers(400000)`,
      params: { now: Date.now(), each: Math.floor(days * day / 400_000) },
      settings: { max_partitions_per_insert_block: "0" }
    }))

const busyRule: Detector = {
  protocol: "dhcpv4",
  threshold: { min_requests: 10, min_unique_ips: 2, operator: "or" },
  max_detections: 1000
}

layer(live, { excludeTestServices: true })("plans of detections on ClickHouse", (it) => {
  it.effect("answer as the events do", () =>
    Effect.gen(function*() {
      yield* store(1, 1)
      yield* store(2, 2)
      assert.isAbove(yield* comparePlans(3), 100)
    }), 120_000)

  it.effect("answer as the events do when sums had to be made anew from them", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      yield* clickhouse.command({ query: "DROP VIEW dhcp_rollup_feed_mv" })
      yield* store(3, 4)
      yield* clickhouse.command({
        query: `CREATE MATERIALIZED VIEW dhcp_rollup_feed_mv TO dhcp_rollup_feed AS SELECT event_time, protocol, client,
          duid, toUInt8(if(protocol = 'dhcpv4',
            message_type IN ('discover', 'request', 'decline', 'release', 'inform'),
            message_type IN ('solicit', 'request', 'confirm', 'renew', 'rebind', 'release', 'decline',
              'information-request'))) AS is_request,
          arrayFilter(ip -> ip != toIPv6('::'), [assigned_ip, client_ip, requested_ip]) AS ips, batch FROM dhcp_events`
      })
      // Cut short before the sums are made, as by a crash, and run again.
      yield* Effect.forEach(boundActivity.slice(0, -4), (query) => clickhouse.command({ query }))
      yield* store(4, 5)
      yield* Effect.forEach(boundActivity, (query) => clickhouse.command({ query }))
      yield* store(5, 6)
      assert.isAbove(yield* comparePlans(7), 100)
    }), 120_000)

  it.effect("use sums where they are far fewer, and events where nothing else will do", () =>
    Effect.gen(function*() {
      const detections = yield* Detections
      yield* busyDays(10)
      const check = Effect.fnUntraced(function*(days: readonly [number, number], uses: ReadonlyArray<string>) {
        const now = yield* Clock.currentTimeMillis
        const window = { start: new Date(now - days[0] * day), end: new Date(now - days[1] * day) }
        const { params, query, rows, total } = yield* detections.detect(busyRule, window, ["aa:bb:cc:00:00:03"])
        for (const table of ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d"]) {
          assert.strictEqual(query.includes(`FROM ${table}\n`), uses.includes(table), `${days}: ${query}`)
        }
        const expected = yield* answer(busyRule, window)
        assert.deepStrictEqual(rows, expected.rows)
        assert.strictEqual(total, expected.rowsBeforeLimit)
        const clickhouse = yield* ClickHouse
        assert.deepStrictEqual((yield* clickhouse.query({ query, params })).rows, expected.rows)
      })
      yield* check([3.5, 0], ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d"])
      yield* check([1 / 30, 0], ["dhcp_events"])
      // What is older than the shortest retention may be gone from either.
      yield* (yield* ClickHouse).command({
        query: "ALTER TABLE dhcp_activity_1d DELETE WHERE day < now() - INTERVAL 7 DAY SETTINGS mutations_sync = 1"
      })
      yield* check([7.6, 1], ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d"])
      yield* check([9, 7.5], ["dhcp_events"])
    }), 120_000)
})
