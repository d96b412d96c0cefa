import { createClient } from "@clickhouse/client"
import { SqlClient } from "@effect/sql"
import { Effect, Redacted } from "effect"
import { mkdir } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { postgresClient } from "../src/layers/postgres/Postgres.ts"
import { median, type Result } from "./harness.ts"
import { built, cpuOf, type Measured, startLoader, startMeasured, startPeer } from "./httpService.ts"
import type { Service } from "./service.ts"

const { values: options } = parseArgs({
  strict: false,
  options: {
    "http-rounds": { type: "string", default: "5" },
    "http-seconds": { type: "string", default: "3" },
    "http-only": { type: "string", default: "" }
  }
})
const rounds = Number(options["http-rounds"])
const seconds = Number(options["http-seconds"])
const only = String(options["http-only"]).split(",").filter((name) => name !== "")
/** Requests after which code is compiled. */
const warmUp = 5000
const database = "bench_http"
const password = "bench-password-0"

interface Request {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

const wire = (token: string, { body, method, path }: Request): string => {
  const text = body === undefined ? "" : JSON.stringify(body)
  const head = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", `Authorization: Bearer ${token}`]
  if (body !== undefined) head.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`)
  return `${head.join("\r\n")}\r\n\r\n${text}`
}

interface Side {
  readonly name: string
  readonly process: Measured
  readonly request: string
}

interface Seen {
  readonly rate: number
  readonly cpu_us: number
  readonly p50_ms: number
}

type Loader = ReturnType<typeof startLoader>

/** What one side does for the load of one round. */
const measure = async (
  loader: Loader,
  { process, request }: Side,
  connections: number,
  requestsMin = 0
): Promise<Seen> => {
  const load = { port: process.port, request, connections, seconds, requestsMin }
  const before = await cpuOf(process.pid)
  const { elapsed_s, p50_ms, requests } = await loader.drive(load)
  const cpu_s = await cpuOf(process.pid) - before
  return { rate: requests / elapsed_s, cpu_us: cpu_s / requests * 1e6, p50_ms }
}

const medians = (all: ReadonlyArray<Seen>): Seen => ({
  rate: median(all.map(({ rate }) => rate)),
  cpu_us: median(all.map(({ cpu_us }) => cpu_us)),
  p50_ms: median(all.map(({ p50_ms }) => p50_ms))
})

/** Both sides under the same load in turns, after a longer round that isn't counted. */
const inTurns = async (loader: Loader, ours: Side, peer: Side, connections: number) => {
  const seen: { readonly ours: Array<Seen>; readonly peer: Array<Seen> } = { ours: [], peer: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? ["ours", "peer"] as const : ["peer", "ours"] as const) {
      const one = await measure(loader, side === "ours" ? ours : peer, connections, round === 0 ? warmUp : 0)
      if (round > 0) seen[side].push(one)
    }
  }
  return { ours: medians(seen.ours), peer: medians(seen.peer) }
}

const told = (name: string, { cpu_us, p50_ms, rate }: Seen) =>
  `${name}: ${Math.round(rate)}/s, ${Math.round(cpu_us)} us of CPU, p50 ${p50_ms.toFixed(2)} ms`

const compareLoad = async (
  loader: Loader,
  title: string,
  target: string,
  connections: number,
  [ours, peer]: readonly [Side, Side]
): Promise<Result> => {
  const seen = await inTurns(loader, ours, peer, connections)
  const [own, other] = [seen.ours, seen.peer]
  const ratios = connections === 1
    ? `${(own.p50_ms / other.p50_ms).toFixed(2)} x the p50`
    : `${(own.rate / other.rate).toFixed(2)} x the rate, ${(own.cpu_us / other.cpu_us).toFixed(2)} x the CPU`
  return { title, target, ours: told(ours.name, own), peer: told(peer.name, other), ratio: ratios }
}

const macs = Array.from({ length: 20 }, (_, index) => `02:00:00:00:00:${(index + 16).toString(16)}`)
const previewBody = { action: { type: "block" }, criteria: { macs } }
const settingsBody = { theme: "dark", rows_per_page: 50, week_start: "monday" }

const step_ms = 300_000
const points = 576

/** A few events in each step of two days; gives the query that asks for them. */
const fill = async (clickHouseUrl: string): Promise<string> => {
  const clickhouse = createClient({ url: clickHouseUrl, database })
  const end = Math.floor(Date.now() / step_ms) * step_ms
  const begin = end - points * step_ms
  try {
    await clickhouse.command({
      query: `INSERT INTO dhcp_events
        (event_time, protocol, message_type, client, client_mac, assigned_ip, requested_ip, batch, row)
        SELECT fromUnixTimestamp64Milli(toInt64({begin:UInt64} + number * {apart:UInt64}), 'UTC'), 'dhcpv4', 'ack',
          '02:00:00:00:00:01', '02:00:00:00:00:01', toIPv6(concat('::ffff:10.0.', toString(number % 200), '.1')),
          toIPv6('::'), 999999, number
        FROM numbers({events:UInt64})`,
      query_params: { begin, apart: step_ms / 8, events: points * 8 },
      clickhouse_settings: { max_partitions_per_insert_block: "0" }
    })
  } finally {
    await clickhouse.close()
  }
  return `/api/metrics/network-health/unique-ips?start=${begin}&end=${end}&step=5m&limit=1000`
}

/** Takes spans and drops them. */
const startCollector = () =>
  new Promise<Server>((resolve) => {
    const server: Server = createServer((request, response) => {
      request.resume().on("end", () => response.end("{}"))
    })
    server.listen(0, "127.0.0.1", () => resolve(server))
  })

const logIn = async (port: number): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "admin", password })
  })
  return ((await response.json()) as { readonly token: string }).token
}

const createDatabase = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE DATABASE ${sql(database)}`
})

/**
 * Requests to the service as a process of its own, beside the same answers by `node:http`, ajv and pg in another:
 * `--http-rounds` (5) of `--http-seconds` (3) for each side; `--http-only` names cases.
 */
export const http = async (service: Service): Promise<ReadonlyArray<Result>> => {
  await Effect.runPromise(Effect.provide(createDatabase, postgresClient(service.postgresUrl("postgres"), 1)))
  const directory = join(service.directory, "http")
  await mkdir(directory, { recursive: true })
  const databaseUrl = Redacted.value(service.postgresUrl(database))
  const collector = await startCollector()
  const entry = await built(directory)
  const environment = (name: string, more: Readonly<Record<string, string>> = {}) => ({
    NETOPS_DATA_DIR: join(directory, name),
    DATABASE_URL: databaseUrl,
    CLICKHOUSE_URL: service.clickHouseUrl,
    NETOPS_CLICKHOUSE_DATABASE: database,
    NETOPS_ADMIN_PASSWORD: password,
    NETOPS_REQUESTS_PER_MINUTE: "1000000000",
    NETOPS_LOG_FORMAT: "logfmt",
    ...more
  })
  const started: Array<{ readonly stop: () => Promise<void> }> = []
  try {
    const ours = await startMeasured(entry, environment("ours"))
    started.push(ours)
    const token = await logIn(ours.port)
    const seriesPath = await fill(service.clickHouseUrl)
    const answer = await fetch(`http://127.0.0.1:${ours.port}${seriesPath}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    const series = await answer.text()
    const { metadata } = JSON.parse(series) as { readonly metadata: { readonly data_points: number } }
    if (metadata.data_points !== points) throw new Error(`${metadata.data_points} points instead of ${points}`)
    const peer = await startPeer(databaseUrl, series)
    started.push(peer)
    const loader = startLoader()
    started.push(loader)

    const side = (name: string, process: Measured, request: Request): Side => ({
      name,
      process,
      request: wire(token, request)
    })
    const preview = [
      side("POST preview", ours, { method: "POST", path: "/api/actions/bulk/preview", body: previewBody }),
      side("node:http + ajv + pg", peer, { method: "POST", path: "/preview", body: previewBody })
    ] as const
    const read = side("GET unique-ips", ours, { method: "GET", path: seriesPath })
    const size = `${(series.length / 1000).toFixed(0)} kB`
    const cases: Readonly<Record<string, () => Promise<Result>>> = {
      preview: () =>
        compareLoad(
          loader,
          "POST with sign-in and validated body (bulk preview), 64 connections",
          "at least 0.35 x the rate, at most 3 x the CPU",
          64,
          preview
        ),
      series: () =>
        compareLoad(loader, `GET of ${points} points, ${size}, from the cache, 64 connections`, "0.75 x the rate", 64, [
          read,
          side("node:http + pg", peer, { method: "GET", path: "/series" })
        ]),
      openSeries: () =>
        compareLoad(loader, "the same beside JSON.stringify without sign-in", "0.75 x the rate", 64, [
          read,
          side("node:http", peer, { method: "GET", path: "/open-series" })
        ]),
      settings: () =>
        compareLoad(loader, "PUT of settings, audited, 64 connections", "at least 0.55 x the rate", 64, [
          side("PUT settings", ours, { method: "PUT", path: "/api/user/settings", body: settingsBody }),
          side("node:http + ajv + pg", peer, { method: "PUT", path: "/settings", body: settingsBody })
        ]),
      single: () => compareLoad(loader, "the preview on one connection", "at most 1.4 x the p50", 1, preview),
      observed: async () => {
        const { port } = collector.address() as { readonly port: number }
        const quiet = await startMeasured(entry, environment("quiet", { NETOPS_LOG_LEVEL: "Off" }))
        started.push(quiet)
        const traced = await startMeasured(
          entry,
          environment("traced", { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
        )
        started.push(traced)
        const [{ request }] = preview
        return compareLoad(
          loader,
          "the preview with request log and tracing beside without",
          "at most 1.15 x the CPU",
          64,
          [
            { name: "observed", process: traced, request },
            { name: "not", process: quiet, request }
          ]
        )
      }
    }
    const results: Array<Result> = []
    for (const [name, run] of Object.entries(cases)) {
      if (only.length > 0 && !only.includes(name)) continue
      const result = await run()
      process.stdout.write(`${Object.values(result).join(" | ")}\n`)
      results.push(result)
    }
    return results
  } finally {
    for (const { stop } of started.reverse()) await stop()
    collector.close()
  }
}
