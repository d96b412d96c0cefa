import { Duration, Effect, Layer, Redacted } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClickHouse } from "../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../src/layers/clickhouse/ClickHouseClient.ts"
import { embeddedClickHouse } from "../src/layers/clickhouse/EmbeddedClickHouse.ts"
import { type Compiled, compileUniqueIps } from "../src/layers/clickhouse/MetricsSql.ts"
import { migrateClickHouse } from "../src/layers/clickhouse/migrate.ts"
import type { MetricsQuery } from "../src/schema/MetricsQuery.ts"
import { planUniqueIps } from "../src/services/MetricsPlan.ts"
import { fillStatements, type Traffic, trafficNames } from "./traffic.ts"

/** Events of each kind of traffic: `npx vite-node bench/rollups.ts 10000000`; they need some 60 bytes of disk each. */
const events = Number(process.argv[2] ?? 1_000_000)
const clients = Math.max(1000, events / 100)
const begin = Date.parse("2096-02-01T00:00:00Z")
const day = 86_400_000
const rounds = 5

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

const say = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

const fill = Effect.fnUntraced(function*(traffic: Traffic, range_ms: number) {
  const clickhouse = yield* ClickHouse
  const started = performance.now()
  for (const query of fillStatements(traffic, begin, { events, clients, range_ms })) {
    yield* clickhouse.command({ query, timeout: Duration.hours(1) })
  }
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
  for (const name of trafficNames) {
    yield* fill(name, day)
    yield* say(
      `unique-ips of 24 h, ${name}: ${yield* timed({ raw: metric(1, 120, true), "1m": metric(1, 120, false) })}`
    )
  }
  const filled = yield* fill("renewing", 30 * day)
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
