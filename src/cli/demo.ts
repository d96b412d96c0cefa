import { Command, Options } from "@effect/cli"
import {
  Clock,
  ConfigProvider,
  Console,
  DateTime,
  Effect,
  Layer,
  Logger,
  LogLevel,
  Redacted,
  Schedule,
  Schema
} from "effect"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Client, makeFetchClient, tokenByPassword } from "../api/client.ts"
import { ServerLive } from "../main.ts"
import { RuleDraft } from "../schema/AutomationRule.ts"
import { type DetectedMac } from "../schema/Detection.ts"
import { sendLines } from "./ingest.ts"
import { ndjsonLines, shiftLinesToNow } from "./sources.ts"

const example = (path: string) => new URL(`../../examples/${path}`, import.meta.url).pathname

const once = Options.boolean("once").pipe(Options.withDescription("End after the table instead of serving on"))

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const column = (text: string | number, width: number) => String(text).padEnd(width)

const table = (rows: ReadonlyArray<DetectedMac>) =>
  [
    `  ${column("client", 20)}${column("protocol", 10)}${column("requests", 10)}unique IPs`,
    ...rows.map((row) =>
      `  ${column(row.MAC || row.DUID, 20)}${column(row.Protocol, 10)}${column(row.TotalRequests, 10)}${row.UniqueIPs}`
    )
  ].join("\n")

const rule = (name: string) =>
  Effect.promise(() => readFile(example(`rules/${name}.json`), "utf8")).pipe(
    Effect.flatMap(Schema.decodeUnknown(Schema.parseJson(RuleDraft)))
  )

const byItself = Effect.fn("demo.byItself")(function*(client: Client, draft: RuleDraft) {
  yield* Console.log("\n4. A rule on a schedule, every 5 seconds: nobody calls anything")
  const schedule = { type: "interval", every: "5s" } as const
  const { id } = yield* client.automation.createRule({ payload: { ...draft, name: "Every 5 seconds", schedule } })
  const runs = client.automation.listRuns({ path: { id }, urlParams: { limit: 1 } })
  const run = yield* runs.pipe(
    Effect.flatMap(({ items }) => Effect.fromNullable(items[0])),
    Effect.retry(Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(50)))
  )
  const { items } = yield* client.alarms.list({ urlParams: { limit: 10, rule_id: id } })
  yield* Console.log(
    `   fired at ${run.due_at && DateTime.formatIso(run.due_at)}: ${run.macs_detected} client detected`
  )
  for (const alarm of items) yield* Console.log(`   alarm ${alarm.status}: ${alarm.client} (${alarm.severity})`)
})

const show = Effect.fn("demo.show")(function*(client: Client) {
  yield* Console.log("1. Ingest: 18 seconds of recorded Kea traffic, moved to end now")
  const lines = shiftLinesToNow(
    () => ndjsonLines(example("traffic/kea-perfdhcp.ndjson.gz")),
    yield* Clock.currentTimeMillis
  )
  const { accepted } = yield* sendLines(client, lines, () => Effect.void)
  yield* Console.log(`   ${accepted} events stored\n`)

  const payload = yield* rule("starvation")
  yield* Console.log(`2. Preview of the rule “${payload.name}”: who would be hit?`)
  const preview = yield* client.automation.testPreview({ payload })
  yield* Console.log(`${table(preview.data.DetectedMacs)}\n   found in ${preview.data.ExecutionTimeMs} ms\n`)

  yield* Console.log("3. Save the rule and run it")
  const saved = yield* client.automation.createRule({ payload: { ...payload, mode: "enforce" } })
  const run = yield* client.automation.runRule({ path: { id: saved.id }, payload: { dry_run: false } })
  yield* Console.log(
    `   status ${run.data.Status}: ${run.data.MacsDetected} client detected, ${run.data.ActionsTriggered} action ordered`
  )
  const actions = yield* client.actions.list({ urlParams: { limit: 10 } })
  for (const action of actions.items) yield* Console.log(`   ${action.type} ${action.client} (${action.reason})`)
  yield* byItself(client, payload)
})

const tour = Effect.fn("demo.tour")(function*(url: string, password: Redacted.Redacted, once: boolean) {
  const anonymous = yield* makeFetchClient({ baseUrl: url })
  const credentials = { username: "admin", password: Redacted.value(password) }
  const token = yield* tokenByPassword(anonymous, credentials)
  yield* show(yield* makeFetchClient({ baseUrl: url, token }))
  if (once) return
  yield* Console.log(`
The service keeps running:
  API        ${url}
  docs       ${url}/docs
  sign-in    user admin, password ${credentials.password}
  try        curl -s ${url}/api/automation/rules -H 'Authorization: Bearer ${Redacted.value(token)}'
Stop it with Ctrl-C; its data directory goes with it.`)
  return yield* Effect.never
})

export const demo = Command.make("demo", { once }, ({ once }) =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "netops-demo-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
    )
    const port = yield* freePort
    const password = Redacted.make(randomBytes(12).toString("base64url"))
    const settings = new Map([
      ["PORT", String(port)],
      ["HOST", "127.0.0.1"],
      ["NETOPS_DATA_DIR", directory],
      ["NETOPS_ADMIN_PASSWORD", Redacted.value(password)],
      ["NETOPS_LOG_LEVEL", "WARN"],
      ["PATH", process.env["PATH"] ?? ""]
    ])
    yield* Console.log("Starting Postgres, ClickHouse (chDB) and the API in a fresh directory …\n")
    const server = Layer.provide(ServerLive, Layer.setConfigProvider(ConfigProvider.fromMap(settings)))
    yield* Effect.scoped(
      Effect.zipRight(Layer.build(server), tour(`http://127.0.0.1:${port}`, password, once))
    )
  }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.Warning))).pipe(
    Command.withDescription("Show the main job on recorded traffic, on embedded engines in a fresh directory")
  )
