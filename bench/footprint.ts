import { Effect, Redacted } from "effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { Readable } from "node:stream"
import { json } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
import { setTimeout as rest } from "node:timers/promises"
import { parseArgs } from "node:util"
import { makeFetchClient, tokenByPassword } from "../src/api/client.ts"
import { median, type Result } from "./harness.ts"
import { eventLine } from "./ingest.ts"
import { createDatabase, type Service } from "./service.ts"

const { values: options } = parseArgs({ strict: false, options: { lines: { type: "string", default: "10000000" } } })
/** Lines that are sent in one request. */
const lines = Number(options["lines"])
const linesOfChunk = 1000
const password = "bench-password-0"
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly scripts: { readonly start: string } }

/** Resident memory of a process in MiB. */
const resident = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024

/** `npm start` on the engines of the bench, until it answers 200, and the seconds that took. */
const start = async (env: NodeJS.ProcessEnv) => {
  const began = performance.now()
  const [command, ...args] = scripts.start.split(" ")
  const child = spawn(command!, args, { env: { ...process.env, ...env }, stdio: "ignore" })
  const url = `http://127.0.0.1:${env["PORT"]}`
  while (true) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    if (answer?.status === 200) return { child, url, seconds: (performance.now() - began) / 1000 }
    await rest(10)
  }
}

const stop = async ({ child }: { readonly child: ChildProcess }): Promise<number> => {
  const began = performance.now()
  child.kill("SIGTERM")
  await once(child, "exit")
  return (performance.now() - began) / 1000
}

/** Sends all lines in one request, and gives the memory before and the most that was seen meanwhile, in MiB. */
const loaded = async (child: ChildProcess, url: string) => {
  const client = await Effect.runPromise(makeFetchClient({ baseUrl: url }))
  const token = await Effect.runPromise(tokenByPassword(client, { username: "admin", password }))
  const now = Date.now()
  const chunk = Buffer.from(Array.from({ length: linesOfChunk }, (_, index) => `${eventLine(index, now)}\n`).join(""))
  const before = resident(child)
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, resident(child))
  }, 100)
  const sending = request(`${url}/api/dhcp/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${Redacted.value(token)}`, "content-type": "application/x-ndjson" }
  })
  const answered = once(sending, "response")
  await pipeline(Readable.from(Array.from({ length: Math.ceil(lines / linesOfChunk) }, () => chunk)), sending)
  const [response] = await answered
  const verdict = await json(response) as { readonly accepted: number }
  clearInterval(watch)
  if (verdict.accepted !== lines) throw new Error(`accepted ${JSON.stringify(verdict)}`)
  return { before, most }
}

/** What a process of `npm start` needs on external engines that are migrated: time to start and stop, and memory. */
export const footprint = async (service: Service): Promise<ReadonlyArray<Result>> => {
  execFileSync("npm", ["run", "--silent", "build"])
  const name = "bench_footprint"
  await Effect.runPromise(createDatabase(service, name))
  const env = {
    PORT: "18099",
    NETOPS_DATA_DIR: `${service.directory}/footprint`,
    NETOPS_ADMIN_PASSWORD: password,
    DATABASE_URL: Redacted.value(service.postgresUrl(name)),
    CLICKHOUSE_URL: service.clickHouseUrl,
    NETOPS_CLICKHOUSE_DATABASE: name
  }
  await stop(await start(env))
  const starts: Array<number> = []
  const stops: Array<number> = []
  for (let round = 0; round < 5; round++) {
    const started = await start(env)
    starts.push(started.seconds)
    await rest(1000)
    stops.push(await stop(started))
  }
  const { child, url } = await start(env)
  await rest(10_000)
  const idle = resident(child)
  const { before, most } = await loaded(child, url)
  await stop({ child })
  const result = (title: string, ours: string, target: string): Result => ({
    title,
    ours,
    peer: "-",
    ratio: "-",
    target
  })
  return [
    result("start to the first 200, migrated", `${median(starts).toFixed(2)} s`, "at most 1.5 s"),
    result("idle service stopped", `${median(stops).toFixed(2)} s`, "at most 1 s"),
    result("resident memory, idle", `${idle.toFixed(0)} MiB`, "at most 150 MiB"),
    result(
      `resident memory at the ingest of ${lines} lines in one request`,
      `${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB meanwhile`,
      "at most 150 MiB more, 320 MiB in all"
    )
  ]
}
