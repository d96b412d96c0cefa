import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Option, Schedule } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { EnginesLive } from "../../src/layers/Engines.ts"
import { linkLibraries } from "../../src/layers/postgres/binaries.ts"
import { processIdentity } from "../../src/layers/processes.ts"

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-embedded-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

const engines = (directory: string) =>
  EnginesLive.pipe(
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["NETOPS_DATA_DIR", directory]]))))
  )

const pidIn = (file: string) => readFile(file, "utf8").then((text) => Number(text.split(/\s/)[0]))
const enginePids = (directory: string) =>
  Effect.promise(() =>
    Promise.all([
      pidIn(join(directory, "postgres", "data", "postmaster.pid")),
      pidIn(join(directory, "clickhouse.pid"))
    ])
  )
const alive = (pid: number) => Effect.map(processIdentity(pid), Option.isSome)

const hold = (directory: string) =>
  Effect.async<number>((resume) => {
    const viteNode = join(dirname(createRequire(import.meta.url).resolve("vite-node/package.json")), "vite-node.mjs")
    const child = spawn(process.execPath, [viteNode, join(import.meta.dirname, "..", "support", "engineHolder.ts")], {
      env: { PATH: process.env["PATH"], NETOPS_DATA_DIR: directory },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    child.once("exit", (code) => resume(Effect.die(new Error(`holder ended with ${code}: ${output}`))))
    child.stdout.on("data", (chunk) => {
      output += String(chunk)
      if (output.includes("holding\n")) resume(Effect.succeed(child.pid ?? 0))
    })
  })

describe("embedded engines", () => {
  it.scopedLive("survive the kill of the server that held them, with their rows, and leave no process behind", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      const holder = yield* hold(directory)
      const [postmaster, front] = yield* enginePids(directory)
      process.kill(holder, "SIGKILL")
      const counts = yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const clickhouse = yield* ClickHouse
        assert.strictEqual((yield* enginePids(directory))[0], postmaster, "the running Postgres is taken over")
        assert.isFalse(yield* alive(front))
        const events = yield* clickhouse.query({ query: "SELECT count() AS n FROM kept" })
        return [yield* sql`SELECT count(*) AS n FROM kept`, events.rows]
      }).pipe(Effect.provide(engines(directory)))
      assert.deepStrictEqual(counts, [[{ n: 1 }], [{ n: 1 }]])
      assert.isFalse(yield* alive(postmaster))
      assert.notInclude(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }), directory)
    }))

  it.scopedLive("start again after a stop, keep a second server out, and come back after a crash", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      const kept = join(directory, "kept")
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE kept (id int)`
        assert.strictEqual((yield* Effect.promise(() => stat(kept))).mode & 0o777, 0o700)
        const password = yield* Effect.promise(() => stat(join(kept, "postgres", "password")))
        assert.strictEqual(password.mode & 0o777, 0o600)
        const second = yield* Effect.flip(Effect.scoped(Layer.build(engines(kept))))
        assert.include(second.message, `in use by process ${process.pid}`)
      }).pipe(Effect.provide(engines(kept)))
      // As after a reboot: the number of a postmaster that is gone belongs to a stranger now.
      yield* Effect.promise(() =>
        writeFile(join(kept, "postgres", "data", "postmaster.pid"), `${process.pid}\n${kept}\n1\n1\n\n\n\nready\n`)
      )
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM kept`, [{ n: 0 }])
        const clickhouse = yield* ClickHouse
        const [, front] = yield* enginePids(kept)
        process.kill(front, "SIGKILL")
        const during = yield* Effect.flip(clickhouse.ping)
        assert.strictEqual(during.reason, "unreachable")
        yield* clickhouse.query({ query: "SELECT count() FROM dhcp_events" }).pipe(
          Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") })
        )
        assert.notStrictEqual((yield* enginePids(kept))[1], front)
      }).pipe(Effect.provide(engines(kept)))
    }))

  it.scopedLive("link the libraries that an install without scripts leaves out", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.promise(async () => {
        const manifest = [{ source: "native/lib/libx.so.1.2", target: "native/lib/libx.so.1" }]
        await mkdir(join(directory, "native", "lib"), { recursive: true })
        await writeFile(join(directory, "native", "pg-symlinks.json"), JSON.stringify(manifest))
        await linkLibraries(directory)
        await linkLibraries(directory)
        const link = join(directory, "native", "lib", "libx.so.1")
        assert.isTrue((await lstat(link)).isSymbolicLink())
        assert.strictEqual(await readlink(link), "libx.so.1.2")
      })
    }))

  it.scopedLive("release everything when a start fails", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.promise(() => writeFile(join(directory, "clickhouse"), "not a directory"))
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(engines(directory))))
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }), directory)
    }))
})
