import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Schema } from "effect"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { ClickHouseError } from "../../src/layers/clickhouse/ClickHouseError.ts"
import { DetectionsClickHouse } from "../../src/layers/clickhouse/DetectionsClickHouse.ts"
import { compileDetection } from "../../src/layers/clickhouse/DetectionSql.ts"
import { DhcpEventsClickHouse } from "../../src/layers/clickhouse/DhcpEventsClickHouse.ts"
import type { Detector } from "../../src/schema/AutomationRule.ts"
import { DhcpEvent, protocols } from "../../src/schema/DhcpEvent.ts"
import { shiftToNow } from "../../src/services/capture/shiftToNow.ts"
import { Detections } from "../../src/services/Detections.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { type Case, detectionsContract, forAnyDetector } from "../contract/Detections.ts"
import { detectedAmong } from "../layers/DetectionsMemory.ts"
import { storedForm } from "../layers/DhcpEventsMemory.ts"
import { ClickHouseTest } from "../support/engines.ts"

const live = Layer.merge(DetectionsClickHouse, DhcpEventsClickHouse).pipe(
  Layer.provideMerge(ClickHouseTest),
  Layer.orDie
)

detectionsContract("clickhouse", live, 3)

const anyClient = (protocol: Detector["protocol"]): Detector => ({
  protocol,
  threshold: { min_requests: 1, operator: "and" },
  max_detections: 10_000
})
/** The rule for clients that send so much that counting comes before the rest. */
const busy = ({ exclude, threshold, ...rule }: Detector): Detector => ({
  ...rule,
  threshold: { ...threshold, min_requests: 20, operator: "and" },
  exclude: { subnets: exclude?.subnets }
})
const recorded = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url))
const lastDay = () => ({ start: new Date(Date.now() - 86_400_000), end: new Date() })

describe("Detections on ClickHouse", () => {
  it.effect("detects the clients that the memory twin detects", () =>
    Effect.gen(function*() {
      const detections = yield* Detections
      const events = yield* DhcpEvents
      const detected = { rules: 0, preselected: 0 }
      const compare = Effect.fnUntraced(function*({ events, rule, window }: Case) {
        const expected = detectedAmong(rule, window, events.map(storedForm))
        const { query, rows, total } = yield* detections.detect(rule, window, [])
        assert.deepStrictEqual(rows, expected.slice(0, rule.max_detections))
        assert.strictEqual(total, expected.length)
        if (total > 0) detected[query.startsWith("WITH") ? "preselected" : "rules"]++
      })
      yield* forAnyDetector(
        7,
        (number, all) => events.append({ number, events: all }),
        (one) => Effect.zipRight(compare(one), compare({ ...one, rule: busy(one.rule) }))
      )
      assert.isAbove(detected.rules, 6)
      assert.isAbove(detected.preselected, 1)
    }).pipe(Effect.provide(live)))

  it.effect("counts the recorded clients as they were counted from the capture", () =>
    Effect.gen(function*() {
      const detections = yield* Detections
      const lines = gunzipSync(recorded("examples/traffic/kea-perfdhcp.ndjson.gz")).toString().trimEnd().split("\n")
      const decode = Schema.decodeUnknownSync(Schema.parseJson(DhcpEvent))
      yield* (yield* DhcpEvents).append({
        number: 1,
        events: shiftToNow(lines.map((line) => decode(line)), Date.now())
      })
      const [, ...clients] = recorded("test/data/dhcp-kea-perfdhcp.clients.tsv").toString().trimEnd().split("\n")
      for (const protocol of [...protocols, "both"] as const) {
        const { rows } = yield* detections.detect(anyClient(protocol), lastDay(), [])
        const counted = rows.map(({ DUID, MAC, Protocol, TotalRequests, UniqueIPs }) =>
          [Protocol, MAC, DUID, TotalRequests, UniqueIPs].join("\t")
        )
        const expected = clients.filter((line) => protocol === "both" || line.startsWith(protocol))
        assert.deepStrictEqual(counted.sort(), expected.sort())
      }
    }).pipe(Effect.provide(live)))

  it("keeps a rule's values out of the text", () => {
    const hostile = "'; DROP TABLE dhcp_events --"
    const { params, query } = compileDetection(
      {
        ...anyClient("both"),
        filter: {
          _tag: "Group",
          match: "all",
          rules: [{ _tag: "Text", field: "hostname", kind: "text", op: "eq", values: [hostile], negate: false }]
        }
      },
      lastDay(),
      { except: [hostile] },
      10
    )
    assert.notInclude(query, "DROP")
    assert.include(JSON.stringify(params).toUpperCase(), "DROP")
  })

  it.effect("stays below its memory limit or says so", () =>
    Effect.gen(function*() {
      yield* (yield* ClickHouse).command({
        query: `INSERT INTO dhcp_events (event_time, protocol, message_type, client)
          SELECT now() - 60, 'dhcpv6', 'solicit', hex(number) FROM numbers(300000)`
      })
      const error = yield* Effect.flip((yield* Detections).detect(anyClient("both"), lastDay(), []))
      assert.strictEqual(error.reason, "failed")
      assert.strictEqual(
        error.message,
        "needed too much memory (code 241): shorten lookback_minutes or narrow the filter"
      )
    }).pipe(
      Effect.provide(live),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["NETOPS_RULE_MEMORY_BYTES", "1"]])))
    ))

  const answers = {
    unreachable: { reason: "unreachable", message: "ClickHouse can't be reached" },
    timeout: {
      reason: "failed",
      message: "ran longer than 30 s: shorten lookback_minutes or narrow the filter"
    },
    rejected: { reason: "failed", message: "ClickHouse refused the query (code 60)" }
  } as const
  for (const reason of ["unreachable", "timeout", "rejected"] as const) {
    it.effect(`tells of a query that failed: ${reason}`, () =>
      Effect.gen(function*() {
        const clickhouse = yield* ClickHouse
        const error = new ClickHouseError({ reason, code: "60", message: "internal.host (version 26.7)" })
        const failing = Layer.succeed(ClickHouse, { ...clickhouse, query: () => Effect.fail(error) })
        const failed = yield* Effect.flatMap(Detections, (detections) =>
          Effect.flip(detections.detect(anyClient("both"), lastDay(), []))).pipe(
            Effect.provide(Layer.provide(DetectionsClickHouse, failing))
          )
        assert.deepInclude(failed, answers[reason])
      }).pipe(Effect.provide(ClickHouseTest)))
  }
})
