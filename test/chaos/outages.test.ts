import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { makeFetchClient, tokenByPassword } from "../../src/api/client.ts"
import { embeddedPostgres } from "../../src/layers/postgres/EmbeddedPostgres.ts"
import { type Child, startChild } from "../support/childProcess.ts"
import { freshDatabase } from "../support/engines.ts"
import { hangingProxy } from "../support/hangingProxy.ts"
import { type Call, events, load, order, percentile, read, send, type Sent } from "../support/load.ts"
import { pgCtl, startPostgres } from "../support/pgCtl.ts"
import { adminPassword, freePort, temporaryDirectory } from "../support/serverNode.ts"

const restarts = Number(process.env["NETOPS_CHAOS_RESTARTS"] ?? 20)
const recoveryMsMax = 2000
const me = read("me", "/api/auth/me")
const metric = read("metric", "/api/metrics/network-health/unique-ips?step=5m")

interface Service {
  readonly child: Child
  readonly url: string
  readonly token: string
}

/** The whole service as a process of its own on these engines, signed in. */
const startService = (
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {}
): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    const child = yield* startChild("../../src/cli.ts", {
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      CLICKHOUSE_URL: inject("clickhouseUrl"),
      NETOPS_CLICKHOUSE_DATABASE: `outage_${port}`,
      NETOPS_DATA_DIR: yield* temporaryDirectory,
      NETOPS_ADMIN_PASSWORD: adminPassword,
      NETOPS_LOG_LEVEL: "ERROR",
      NETOPS_REQUESTS_PER_MINUTE: "100000000",
      ...more
    }, { args: ["serve"] })
    const url = `http://127.0.0.1:${port}`
    const anonymous = yield* makeFetchClient({ baseUrl: url })
    const token = yield* tokenByPassword(anonymous, { username: "admin", password: adminPassword }).pipe(
      Effect.retry(Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(300))),
      Effect.orElse(() => Effect.die(child.output()))
    )
    return { child, url, token: Redacted.value(token) }
  })

/** The milliseconds until a call is answered well again. */
const recovered = ({ token, url }: Service, call: Call) =>
  Effect.promise(async () => {
    const began = performance.now()
    while (true) {
      const { status } = await send(url, token, call)
      if (status === 200 || status === 201) return performance.now() - began
      assert.isBelow(performance.now() - began, 60_000, `${call.kind} answers ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })

const counted = (sent: ReadonlyArray<Sent>) => {
  const counts: Record<string, number> = {}
  for (const { failure, kind, status } of sent) {
    const name = `${kind} ${status === 0 ? failure : status}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

const assertStatuses = (sent: ReadonlyArray<Sent>, statuses: ReadonlyArray<number>) =>
  assert.deepStrictEqual(counted(sent.filter(({ status }) => !statuses.includes(status))), {})

/** Every order that was answered 201 is there. */
const assertKept = ({ token, url }: Service, sent: ReadonlyArray<Sent>) =>
  Effect.promise(async () => {
    const ids = sent.flatMap(({ id, kind, status }) => kind === "order" && status === 201 ? [id!] : [])
    for (const id of ids) {
      const { status } = await send(url, token, read("kept", `/api/actions/${id}`))
      assert.strictEqual(status, 200, id)
    }
    return ids.length
  })

const rest = (ms: number) => Effect.sleep(`${ms} millis`)

describe("outages", () => {
  it.scopedLive(
    "Postgres restarted under load: 503 meanwhile, nothing that was answered is lost, back at once",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const postgres = yield* embeddedPostgres(directory)
        const service = yield* startService(Redacted.value(postgres.url("postgres")))
        const sent = yield* load(service.url, service.token, [order, me, read("live", "/health/live")], 16)
        const back: Array<number> = []
        for (let round = 0; round < restarts; round++) {
          yield* rest(500 + 500 * Math.random())
          yield* pgCtl(directory, "stop", "-m", round % 2 === 0 ? "fast" : "immediate")
          yield* rest(300)
          yield* startPostgres(directory, postgres.port)
          back.push(yield* recovered(service, order))
        }
        yield* rest(1000)
        assertStatuses(sent.filter(({ kind }) => kind === "live"), [200])
        assertStatuses(sent, [200, 201, 503])
        const kept = yield* assertKept(service, sent)
        const slowest = Math.max(...back)
        yield* Effect.logInfo(`${restarts} restarts of Postgres`, {
          ...counted(sent),
          kept,
          slowest: Math.round(slowest)
        })
        assert.isAtMost(slowest, recoveryMsMax)
      }),
    900_000
  )

  it.scopedLive("ClickHouse hanging: what needs it is 503 in time, the rest goes on", () =>
    Effect.gen(function*() {
      const proxy = yield* hangingProxy(inject("clickhouseUrl"))
      const service = yield* startService(yield* freshDatabase, { CLICKHOUSE_URL: proxy.url })
      const beside = yield* load(service.url, service.token, [order, me], 8)
      yield* rest(3000)
      const before = percentile(beside.map(({ ms }) => ms), 0.99)
      yield* proxy.hang
      const from = Date.now()
      const asked = yield* Effect.promise(() =>
        Promise.all([events, metric, events, metric].map((call) => send(service.url, service.token, call)))
      )
      const during = beside.filter(({ at }) => at >= from)
      yield* proxy.resume
      const back = [yield* recovered(service, events), yield* recovered(service, metric)]
      const seconds = Math.max(...asked.map(({ ms }) => ms)) / 1000
      yield* Effect.logInfo("ClickHouse hanging", {
        ...counted(asked),
        seconds: Math.round(seconds),
        back: back.map(Math.round),
        p99: { before: Math.round(before), during: Math.round(percentile(during.map(({ ms }) => ms), 0.99)) }
      })
      assertStatuses(asked, [503])
      assertStatuses(during, [200, 201])
      assert.isAbove(during.length, 100)
      assert.isAtMost(Math.max(...back), recoveryMsMax)
    }), 300_000)

  it.scopedLive("nft hanging: what needs it is 503 in time, the rest goes on", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const flag = join(directory, "hang")
      const nft = execFileSync("sh", ["-c", "command -v nft"], { encoding: "utf8" }).trim()
      const bin = join(directory, "bin")
      yield* Effect.promise(async () => {
        await mkdir(bin)
        await writeFile(join(bin, "nft"), `#!/bin/sh\nwhile [ -e ${flag} ]; do sleep 0.1; done\nexec ${nft} "$@"\n`)
        await chmod(join(bin, "nft"), 0o755)
      })
      const service = yield* startService(yield* freshDatabase, { PATH: `${bin}:${process.env["PATH"]}` })
      const beside = yield* load(service.url, service.token, [order, me], 8)
      const validate: Call = {
        kind: "validate",
        method: "POST",
        path: "/api/v1/nftables/config/validate",
        body: () => JSON.stringify({ ruleset: { nftables: [{ add: { table: { family: "inet", name: "t" } } }] } })
      }
      yield* recovered(service, validate)
      yield* Effect.promise(() => writeFile(flag, ""))
      const from = Date.now()
      const asked = yield* Effect.promise(() =>
        Promise.all([validate, validate].map((call) => send(service.url, service.token, call)))
      )
      const during = beside.filter(({ at }) => at >= from)
      yield* Effect.promise(() => rm(flag))
      const back = yield* recovered(service, validate)
      yield* Effect.logInfo("nft hanging", {
        ...counted(asked),
        seconds: Math.round(Math.max(...asked.map(({ ms }) => ms)) / 1000),
        back: Math.round(back)
      })
      assertStatuses(asked, [503])
      assertStatuses(during, [200, 201])
      assert.isAbove(during.length, 100)
      assert.isAtMost(back, recoveryMsMax)
    }), 300_000)

  it.scopedLive(
    "a full disk: 503 for what can't be kept, reads go on, and all that was answered is there",
    () =>
      Effect.gen(function*() {
        const directory = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const path = await mkdtemp(join(tmpdir(), "netops-disk-"))
            execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=0755", "tmpfs", path])
            return path
          }),
          (path) =>
            Effect.promise(async () => {
              execFileSync("umount", ["-l", path])
              await rm(path, { recursive: true, force: true })
            })
        )
        const postgres = yield* embeddedPostgres(directory)
        const service = yield* startService(Redacted.value(postgres.url("postgres")))
        const sent = yield* load(service.url, service.token, [order, me], 8)
        yield* rest(2000)
        const filler = join(directory, "filler")
        try {
          execFileSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"], { stdio: "ignore" })
        } catch {
          // It ends when the disk is full.
        }
        const from = Date.now()
        yield* Effect.retry(
          Effect.suspend(() =>
            sent.some(({ at, kind, status }) => at > from && kind === "order" && status === 503)
              ? Effect.void
              : Effect.fail("not full yet")
          ),
          Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(600))
        )
        const full = Date.now()
        yield* rest(3000)
        const during = sent.filter(({ at }) => at > full)
        yield* Effect.promise(() => rm(filler))
        const back = yield* recovered(service, order)
        yield* rest(1000)
        const kept = yield* assertKept(service, sent)
        yield* Effect.logInfo("a full disk", { ...counted(during), kept, back: Math.round(back) })
        assertStatuses(sent, [200, 201, 503])
      }),
    300_000
  )

  it.scopedLive("a stop under load fails no request", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      for (let round = 0; round < 5; round++) {
        const sent = yield* Effect.scoped(Effect.gen(function*() {
          const service = yield* startService(database)
          const sent = yield* load(service.url, service.token, [order, me], 16)
          yield* rest(2000)
          const [took] = yield* Effect.timed(service.child.kill("SIGTERM"))
          yield* Effect.logInfo("stopped under load", { took: String(took), ...counted(sent) })
          return sent
        }))
        // Who comes anew at the end finds nobody, and may go elsewhere; who is connected is answered.
        assert.deepStrictEqual(counted(sent.filter(({ onReusedSocket }) => onReusedSocket)), {})
        assertStatuses(sent.filter(({ status }) => status !== 0), [200, 201, 503])
      }
    }), 300_000)
})
