import { createClient } from "@clickhouse/client"
import { compileUniqueIps } from "../src/layers/clickhouse/MetricsSql.ts"
import type { MetricsQuery } from "../src/schema/MetricsQuery.ts"
import { planUniqueIps } from "../src/services/MetricsPlan.ts"
import { compare, median, type Result } from "./harness.ts"
import type { Service } from "./service.ts"

const day = 86_400_000
const days = 30

const address = "toIPv6(concat('::ffff:', IPv4NumToString(toUInt32(167772160 + n % 16777216))))"
const none = "toIPv6('::')"

/** One day of clients that renew their leases now and then: requests and their answers. */
const generate = `INSERT INTO dhcp_events
  (event_time, protocol, message_type, client, client_mac, assigned_ip, requested_ip, batch, row)
SELECT
  fromUnixTimestamp64Milli(toInt64({from:UInt64} + rand64(2) % {span:UInt64}), 'UTC'),
  'dhcpv4',
  if(number % 2 = 0, 'request', 'ack') AS type,
  concat('02:00:', arrayStringConcat(arrayMap(
    i -> lower(hex(reverse(toString(char(bitAnd(bitShiftRight(n, i), 255)))))), [24, 16, 8, 0]), ':')) AS mac,
  mac,
  if(type = 'ack', ${address}, ${none}),
  if(type = 'request', ${address}, ${none}),
  999999, number
FROM (SELECT number, rand64(1) % {clients:UInt32} AS n FROM numbers({events:UInt64}))`

/** Times of a call in milliseconds, one after the other. */
const times = async (count: number, run: (index: number) => Promise<void>) => {
  const all: Array<number> = []
  for (let index = 0; index < count; index++) {
    const start = performance.now()
    await run(index)
    all.push(performance.now() - start)
  }
  return all
}

/** Unique addresses of 30 days through the API, beside the same question to the events and to the rollup. */
export const metrics = async (
  { clickHouseUrl, token, url }: Service,
  events: number
): Promise<ReadonlyArray<Result>> => {
  const clickhouse = createClient({
    url: clickHouseUrl,
    database: "netops",
    request_timeout: 3_600_000,
    log: { level: 127 }
  })
  const clients = Math.max(1000, Math.round(events / 100))
  const now = Date.now()
  const begin = Math.floor(now / day) * day - (days - 1) * day
  const query: MetricsQuery = {
    start_ms: begin,
    end_ms: Math.floor(now / 3_600_000) * 3_600_000,
    step_s: 3600,
    limit: 1000,
    aggregate: "uniq",
    exclude_blocked: false,
    protocol: "all"
  }
  const sql = (raw: boolean) =>
    compileUniqueIps(
      { query, filter: undefined, except: [] },
      planUniqueIps(query, raw, { events_ms: 0, minutes_ms: 0 })
    )
  const bare = async (raw: boolean) => {
    const { params, query: text } = sql(raw)
    const answer = await clickhouse.query({ query: text, query_params: { ...params }, format: "JSON" })
    const { data } = await answer.json<unknown>()
    return data.length
  }
  const ask = async (limit: number) => {
    const parameters = new URLSearchParams({
      start: String(query.start_ms),
      end: String(query.end_ms),
      step: "1h",
      limit: String(limit)
    })
    const response = await fetch(`${url}/api/metrics/network-health/unique-ips?${parameters}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    const { data, metadata } = await response.json() as {
      readonly data: { readonly series: ReadonlyArray<{ readonly points: ReadonlyArray<unknown> }> }
      readonly metadata: { readonly cache_hit: boolean; readonly materialized_view_used: string }
    }
    return { points: data.series.reduce((sum, { points }) => sum + points.length, 0), ...metadata }
  }
  // Another limit is another query, whose answer isn't there yet.
  let limit = 1000
  const fresh = async () => {
    const { cache_hit, materialized_view_used, points } = await ask(limit++)
    if (cache_hit || materialized_view_used !== "dhcp_unique_ips_1h") throw new Error("not read from the rollup")
    return points
  }
  try {
    const started = performance.now()
    for (let index = 0; index < days; index++) {
      const from = begin + index * day
      await clickhouse.command({
        query: generate,
        query_params: { from, span: Math.min(day, now - from), clients, events: Math.floor(events / days) },
        clickhouse_settings: { insert_deduplicate: 0, max_partitions_per_insert_block: "0" }
      })
    }
    const generated = (performance.now() - started) / 1000
    const [expected, found] = [await bare(true), await fresh()]
    if (expected !== found) throw new Error(`${found} points, ${expected} by the events`)
    const title = `unique addresses of ${days} days of ${events} events by the hour`
    const rollup = await compare({
      title,
      target: "at most 0.02 x",
      ours: { name: "GET unique-ips", run: async () => void await fresh() },
      peer: { name: "SQL over the events", run: async () => void await bare(true) }
    })
    const rounds = 40
    const [ours, engine]: [Array<number>, Array<number>] = [[], []]
    for (let round = 0; round < rounds; round++) {
      ours.push(...await times(1, async () => void await fresh()))
      engine.push(...await times(1, async () => void await bare(false)))
    }
    await ask(7)
    const hits = await times(500, async () => {
      if (!(await ask(7)).cache_hit) throw new Error("not a hit")
    })
    const ms = (value: number) => `${value.toFixed(1)} ms`
    return [
      rollup,
      {
        title: `the same, p50 of ${rounds}`,
        ours: `GET unique-ips: ${ms(median(ours))}`,
        peer: `the rollup's SQL: ${ms(median(engine))}`,
        ratio: `+ ${ms(median(ours) - median(engine))}`,
        target: "at most + 5 ms"
      },
      {
        title: `the same once more, p50 of ${hits.length}`,
        ours: `GET unique-ips from the cache: ${ms(median(hits))}`,
        peer: "-",
        ratio: "-",
        target: "at most 1 ms"
      },
      {
        title: `generating ${events} events through the rollups`,
        ours: `${Math.round(events / generated)} events/s`,
        peer: "-",
        ratio: "-",
        target: "-"
      }
    ]
  } finally {
    await clickhouse.close()
  }
}
