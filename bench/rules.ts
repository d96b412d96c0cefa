import { type ClickHouseClient, createClient } from "@clickhouse/client"
import { Effect, Schema } from "effect"
import { isDeepStrictEqual, parseArgs } from "node:util"
import { compileDetection } from "../src/layers/clickhouse/DetectionSql.ts"
import { RuleDraft } from "../src/schema/AutomationRule.ts"
import type { Window } from "../src/schema/Detection.ts"
import { compare, type Result } from "./harness.ts"
import type { Service } from "./service.ts"
import { fillStatements, type Traffic, trafficNames } from "./traffic.ts"

const { values: options } = parseArgs({
  strict: false,
  options: {
    events: { type: "string", default: "10000000" },
    rounds: { type: "string", default: "5" },
    traffic: { type: "string" }
  }
})
/** Events of 24 hours; each kind of traffic is some 25 bytes of disk an event. */
const events = Number(options["events"])
const rounds = Number(options["rounds"])
const clients = Math.max(1000, events / 100)
const overheadRuns = 100
const hour = 3_600_000
const midnight = Math.floor(Date.now() / (24 * hour)) * 24 * hour
const range_ms = 26 * hour

const before = (end: number, hours: number): Window => ({ start: new Date(end - hours * hour), end: new Date(end) })
const windows = {
  "to midnight": before(midnight, 24),
  "to a full hour": before(midnight - hour, 24),
  "to 20 past": before(midnight - hour - hour * 2 / 3, 24)
} as const

const draft = Schema.decodeSync(RuleDraft)
/** One that must know the addresses of all clients, and one for which counting comes first. */
const rules = {
  addresses: { min_requests: 500, min_unique_ips: 100, operator: "or" },
  requests: { min_requests: 500 }
} as const

const draftOf = (threshold: RuleDraft["threshold"] | { readonly min_requests: number }) =>
  draft({ name: "bench", protocol: "dhcpv4", threshold, mode: "simulate", lookback_minutes: 1440 })

const median = (values: ReadonlyArray<number>) => [...values].sort((a, b) => a - b)[values.length >> 1]!

const used = (query: string) =>
  ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d"].filter((table) => query.includes(`FROM ${table}`)).map((
    table
  ) => table.replace("dhcp_", "")).join(" + ")

const asked =
  (clickhouse: ClickHouseClient, statement: { query: string; params: Readonly<Record<string, unknown>> }) =>
  async () => {
    const answer = await clickhouse.query({ query: statement.query, query_params: statement.params, format: "JSON" })
    const { rows } = await answer.json()
    return rows
  }

/** A window that is asked for, and what the run's own record says of it. */
const runOver = async ({ client }: Service, id: string, window: Window) => {
  const payload = { dry_run: true, start: window.start.toISOString(), end: window.end.toISOString() }
  const started = performance.now()
  const { data } = await Effect.runPromise(client.automation.runRule({ path: { id }, payload }))
  return performance.now() - started - data.ExecutionTimeMs
}

/** What a run takes beyond the time that the engine says its query took, beside the same query without the service. */
const overhead = async (service: Service, clickhouse: ClickHouseClient, what: string): Promise<Result> => {
  const { client } = service
  const window = windows["to midnight"]
  const { id } = await Effect.runPromise(client.automation.createRule({ payload: draftOf(rules.requests) }))
  await runOver(service, id, window)
  const { items: [last] } = await Effect.runPromise(
    client.automation.listRuns({ path: { id }, urlParams: { limit: 1 } })
  )
  const bare = async () => {
    const started = performance.now()
    const answer = await clickhouse.query({ query: last!.query, query_params: last!.query_params, format: "JSON" })
    const { statistics } = await answer.json()
    return performance.now() - started - statistics!.elapsed * 1000
  }
  const times: { readonly ours: Array<number>; readonly bare: Array<number> } = { ours: [], bare: [] }
  for (let run = 0; run < 2 * overheadRuns; run++) {
    const [ours, peer] = [await runOver(service, id, window), await bare()]
    // The first half is for the compiler to get warm.
    if (run < overheadRuns) continue
    times.ours.push(ours)
    times.bare.push(peer)
  }
  const told = (all: ReadonlyArray<number>) => `${median(all).toFixed(1)} ms (least ${Math.min(...all).toFixed(1)} ms)`
  return {
    title: `dry run of a rule beyond the engine's own time, ${what}`,
    ours: `POST run: ${told(times.ours)}`,
    peer: `bare SQL: ${told(times.bare)}`,
    ratio: `${(median(times.ours) - median(times.bare)).toFixed(1)} ms more`,
    target: "at most 5 ms"
  }
}

/** Told as it comes, for runs that take long. */
const say = (result: Result): Result => {
  process.stdout.write(`${Object.values(result).join(" | ")}\n`)
  return result
}

/** Rules over 24 hours as the service evaluates them, beside the SQL over the events alone. */
const overTraffic = async (service: Service, clickhouse: ClickHouseClient, traffic: Traffic) => {
  const { client } = service
  const amount = { clients, range_ms, events: Math.round(events * range_ms / (24 * hour)) }
  for (const query of fillStatements(traffic, midnight - range_ms, amount)) {
    await clickhouse.command({ query, clickhouse_settings: { wait_end_of_query: 1 } })
  }
  const results: Array<Result> = []
  for (const [name, threshold] of Object.entries(rules)) {
    const payload = draftOf(threshold)
    const { id } = await Effect.runPromise(client.automation.createRule({ payload }))
    for (const [when, window] of Object.entries(windows)) {
      await runOver(service, id, window)
      const { items: [last] } = await Effect.runPromise(
        client.automation.listRuns({ path: { id }, urlParams: { limit: 1 } })
      )
      const planned = asked(clickhouse, { query: last!.query, params: last!.query_params })
      const raw = asked(clickhouse, compileDetection(payload, window, {}, payload.max_detections))
      if (!isDeepStrictEqual(await planned(), await raw())) throw new Error(`${traffic}: the plan answers otherwise`)
      results.push(say(
        await compare({
          title: `rule on ${name}, 24 h ${when}, ${events} events of ${clients} clients, ${traffic}`,
          ours: { name: used(last!.query), run: async () => void await planned() },
          peer: { name: "events", run: async () => void await raw() },
          target: used(last!.query) === "events" ? "the same query" : "never slower; 3 x faster where a rollup helps"
        }, rounds)
      ))
    }
  }
  return results
}

/** `--events N` of each kind of traffic (10 million), or of one `--traffic`, in `--rounds N` (5). */
export const benchRules = async (service: Service): Promise<ReadonlyArray<Result>> => {
  const clickhouse = createClient({ url: service.clickHouseUrl, database: "netops", request_timeout: 3_600_000 })
  try {
    const results = [say(await overhead(service, clickhouse, "nothing stored"))]
    const traffics = trafficNames.filter((name) => options["traffic"] === undefined || options["traffic"] === name)
    for (const traffic of traffics) results.push(...await overTraffic(service, clickhouse, traffic))
    results.push(say(await overhead(service, clickhouse, `by a plan over ${events} events`)))
    return results
  } finally {
    await clickhouse.close()
  }
}
