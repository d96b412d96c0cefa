import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Redacted, Schedule } from "effect"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { totpCode } from "../../src/services/Totp.ts"
import { adminPassword, startNode } from "../support/serverNode.ts"

const eventCount = 500

/** The commands of the section for embedded engines, as they stand in the document. */
const documented = async (): Promise<{ readonly backup: string; readonly restore: string }> => {
  const section = (await readFile("docs/backup.md", "utf8")).split("## Embedded engines")[1]!.split("\n## ")[0]!
  const [, backup = "", restore = ""] = /```sh\n([\s\S]*?)```[\s\S]*?```sh\n([\s\S]*?)```/.exec(section)!
  return { backup, restore }
}

/** Runs the lines of tar and mkdir among these commands, for a data directory and an archive. */
const run = (commands: string, NETOPS_DATA_DIR: string, ARCHIVE: string) =>
  Effect.promise(async () => {
    const lines = commands.split("\n").filter((line) => /^(?:tar|mkdir|install) /.test(line))
    assert.isAbove(lines.length, 0)
    await promisify(execFile)("sh", ["-euc", lines.join("\n")], { env: { ...process.env, NETOPS_DATA_DIR, ARCHIVE } })
  })

const asker =
  (url: string) => (method: string, path: string, body?: unknown, token?: string, type = "application/json") =>
    Effect.promise(async () => {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": type }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      })
      const text = await answer.text()
      assert.isBelow(answer.status, 300, `${method} ${path} ${text}`)
      return JSON.parse(text)
    })

describe("a backup of embedded engines", () => {
  it.scopedLive("gives back sign-in, second factor, rules, events and the audit chain", () =>
    Effect.gen(function*() {
      const base = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "netops-backup-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      const [first, second, archive] = [join(base, "first"), join(base, "second"), join(base, "netops.tar.gz")]
      yield* Effect.promise(() => mkdir(first))
      const start = (NETOPS_DATA_DIR: string) =>
        startNode({ databaseUrl: "", database: "netops" }, {
          NETOPS_DATA_DIR,
          CLICKHOUSE_URL: "",
          NETOPS_CLUSTER: "0"
        })
      const login = { username: "admin", password: adminPassword }

      const before = yield* start(first)
      const ask = asker(before.url)
      const { token } = yield* ask("POST", "/api/auth/login", login)
      const now = DateTime.formatIso(yield* DateTime.now)
      const lines = Array.from({ length: eventCount }, (_, index) =>
        JSON.stringify({
          event_time: now,
          protocol: "dhcpv4",
          message_type: "discover",
          client_mac: `02:00:00:00:${(index >> 8).toString(16).padStart(2, "0")}:${
            (index & 255).toString(16).padStart(2, "0")
          }`
        }))
      yield* ask("POST", "/api/dhcp/events", `${lines.join("\n")}\n`, token, "application/x-ndjson")
      const rule = yield* ask("POST", "/api/automation/rules", { name: "r", threshold: { min_requests: 1 } }, token)
      const { secret } = yield* ask("POST", "/api/auth/mfa/enroll", {}, token)
      const code = totpCode(Redacted.make(secret), Date.now())
      const { recoveryCodes } = yield* ask("POST", "/api/auth/mfa/confirm", { code }, token)
      const { head } = yield* ask("GET", "/api/audit/verify", undefined, token).pipe(
        Effect.filterOrFail(({ head }) => head !== null && head.batch > 0),
        Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 100 }),
        Effect.orDie
      )
      yield* before.stop

      const commands = yield* Effect.promise(documented)
      yield* run(commands.backup, first, archive)
      yield* Effect.promise(() => rm(first, { recursive: true }))
      yield* run(commands.restore, second, archive)

      const after = yield* start(second)
      const askAgain = asker(after.url)
      const challenge = yield* askAgain("POST", "/api/auth/login", login)
      assert.isTrue(challenge.mfaRequired)
      const again = yield* askAgain("POST", "/api/auth/mfa/verify", {
        mfaToken: challenge.mfaToken,
        recoveryCode: recoveryCodes[0]
      })
      const get = (path: string) => askAgain("GET", path, undefined, again.token)
      assert.strictEqual((yield* get("/api/dhcp/events?count=true&limit=1")).total, eventCount)
      assert.strictEqual((yield* get(`/api/automation/rules/${rule.id}`)).name, "r")
      const verdict = yield* get(`/api/audit/verify?batch=${head.batch}&hash=${head.hash}`)
      assert.isTrue(verdict.valid, JSON.stringify(verdict))
      yield* after.stop
    }))
})
