import { Duration, Effect, Layer, Redacted } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClickHouse } from "../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../src/layers/clickhouse/ClickHouseClient.ts"
import { compileDetection } from "../src/layers/clickhouse/DetectionSql.ts"
import { embeddedClickHouse } from "../src/layers/clickhouse/EmbeddedClickHouse.ts"
import { type Compiled, compileUniqueIps } from "../src/layers/clickhouse/MetricsSql.ts"
import { migrateClickHouse } from "../src/layers/clickhouse/migrate.ts"
import type { Detector } from "../src/schema/AutomationRule.ts"
import type { MetricsQuery } from "../src/schema/MetricsQuery.ts"
import { planUniqueIps } from "../src/services/MetricsPlan.ts"

/** Events of each kind of traffic: `npx vite-node bench/rollups.ts 10000000`; they need some 60 bytes of disk each. */
const events = Number(process.argv[2] ?? 1_000_000)
const clients = Math.max(1000, events / 100)
const begin = Date.parse("2096-02-01T00:00:00Z")
const day = 86_400_000
const rounds = 5

const mac = (n: string) =>
  `concat('02:00:', arrayStringConcat(arrayMap(i -> lower(hex(reverse(toString(char(bitAnd(bitShiftRight(${n}, i), 255)))))), [24, 16, 8, 0]), ':'))`
const ip = (n: string) => `toIPv6(concat('::ffff:', IPv4NumToString(toUInt32(167772160 + (${n}) % 16777216))))`
const none = "toIPv6('::')"

/** Rows as `client number, milliseconds of the range, message type, assigned, requested`, by traffic. */
const traffics: Readonly<Record<string, (range_ms: number) => string>> = {
  uniform: (range) =>
    `SELECT rand64(1) % ${clients} AS n, rand64(2) % ${range} AS ms,
    ['discover', 'request', 'ack', 'offer'][number % 4 + 1] AS type,
    if(number % 4 >= 2, ${ip("n")}, ${none}) AS assigned, if(number % 4 = 1, ${ip("n")}, ${none}) AS requested
    FROM numbers(${events})`,
  renewing: (range) =>
    `SELECT intDiv(number, 2) % ${clients} AS n,
    (intDiv(intDiv(number, 2), ${clients}) * 1800000 + cityHash64(n) % 1800000 + number % 2) % ${range} AS ms,
    if(number % 2 = 0, 'request', 'ack') AS type, ${ip("n")} AS assigned, ${none} AS requested
    FROM numbers(${events})`,
  attack: (range) =>
    `SELECT if(number % 2 = 0, rand64(3) % 50, rand64(1) % ${clients}) AS n, rand64(2) % ${range} AS ms,
    if(number % 2 = 0, 'discover', 'request') AS type, ${none} AS assigned,
    if(number % 2 = 0, ${ip("rand64(4)")}, ${ip("n")}) AS requested
    FROM numbers(${events})`
}

const median = (values: ReadonlyArray<number>) => [...values].sort((a, b) => a - b)[values.length >> 1]!

const timed = Effect.fnUntraced(function*(sides: Readonly<Record<string, Compiled>>) {
  const clickhouse = yield* ClickHouse
  const times: Record<string, Array<number>> = {}
  const answers = new Set<string>()
  for (let round = 0; round <= rounds; round++) {
    for (const [name, compiled] of Object.entries(sides)) {
      const answer = yield* clickhouse.query({ ...compiled, timeout: "10 minutes" })
      if (round > 0) (times[name] ??= []).push(answer.elapsedMs)
      answers.add(JSON.stringify(answer.rows.length))
    }
  }
  const figures = Object.entries(times).map(([name, all]) => [name, median(all)] as const)
  const [, raw] = figures[0]!
  return `${figures.map(([name, ms]) => `${name} ${ms.toFixed(0)} ms (${(raw / ms).toFixed(1)} x)`).join(", ")}` +
    (answers.size === 1 ? "" : " DIFFERENT ANSWERS")
})

const rule: Detector = {
  protocol: "dhcpv4",
  threshold: { min_requests: 500, min_unique_ips: 100, operator: "or" },
  max_detections: 1000
}

const throughRollup = (table: string, bucket: string): Compiled => ({
  query: `SELECT client, sum(requests) AS TotalRequests, uniqExactArrayMerge(states.addresses) AS UniqueIPs
FROM ${table} AS states
WHERE protocol = 'dhcpv4' AND ${bucket} >= {from:DateTime('UTC')} AND ${bucket} < {to:DateTime('UTC')}
GROUP BY client
HAVING TotalRequests >= 500 OR UniqueIPs >= 100
ORDER BY TotalRequests DESC, UniqueIPs DESC, client
LIMIT 1000`,
  params: { from: begin / 1000, to: (begin + day) / 1000 }
})

const say = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

const fill = Effect.fnUntraced(function*(rows: string) {
  const clickhouse = yield* ClickHouse
  for (
    const table of ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d", "dhcp_unique_ips_1m", "dhcp_unique_ips_1h"]
  ) {
    yield* clickhouse.command({ query: `TRUNCATE TABLE ${table}` })
  }
  const started = performance.now()
  yield* clickhouse.command({
    query: `INSERT INTO dhcp_events
      (event_time, protocol, message_type, client, client_mac, assigned_ip, requested_ip, batch, row)
      SELECT fromUnixTimestamp64Milli(toInt64(${begin} + ms), 'UTC'), 'dhcpv4', type, ${
      mac("n")
    } AS c, c, assigned, requested, 1, 1
      FROM (${rows}) SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0`,
    timeout: Duration.hours(1)
  })
  return (performance.now() - started) / 1000
})

const metric = (days: number, step_s: number, raw: boolean): Compiled => {
  const query: MetricsQuery = {
    start_ms: begin,
    end_ms: begin + days * day,
    step_s,
    limit: 1000,
    aggregate: "uniq",
    exclude_blocked: false,
    protocol: "all"
  }
  return compileUniqueIps(
    { query, filter: undefined, except: [] },
    planUniqueIps(query, raw, { events_ms: 0, minutes_ms: 0 })
  )
}

const program = Effect.gen(function*() {
  const clickhouse = yield* ClickHouse
  yield* migrateClickHouse
  yield* say(`${events} events of ${clients} clients, medians of ${rounds} alternating rounds`)
  for (const [name, rows] of Object.entries(traffics)) {
    yield* fill(rows(day))
    const window = { start: new Date(begin - 1), end: new Date(begin + day - 1) }
    yield* say(`rule over 24 h, ${name}: ${yield* timed({
      raw: compileDetection(rule, window, {}, 1000),
      "1h": throughRollup("dhcp_activity_1h", "hour"),
      "1d": throughRollup("dhcp_activity_1d", "day")
    })}`)
    yield* say(
      `unique-ips of 24 h, ${name}: ${yield* timed({ raw: metric(1, 120, true), "1m": metric(1, 120, false) })}`
    )
  }
  const filled = yield* fill(traffics["renewing"]!(30 * day))
  yield* say(`insert through the rollups: ${Math.round(events / filled)} events/s`)
  yield* say(`unique-ips of 30 days: ${yield* timed({ raw: metric(30, 3600, true), "1h": metric(30, 3600, false) })}`)
  const { rows: sizes } = yield* clickhouse.query({
    query: `SELECT table, sum(rows) AS rows, formatReadableSize(sum(bytes_on_disk)) AS size FROM system.parts
      WHERE database = currentDatabase() AND active GROUP BY table ORDER BY table`
  })
  yield* say(JSON.stringify(sizes))
})

const main = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "netops-bench-"))),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )
  const server = yield* embeddedClickHouse(directory)
  const client = yield* clickHouseClient(Redacted.make(Redacted.value(server.url)), "bench")
  yield* Effect.provide(program, Layer.succeed(ClickHouse, client))
}).pipe(Effect.scoped)

Effect.runPromise(main).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
})
