import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { freshDatabase } from "../support/engines.ts"
import { adminPassword, startNode } from "../support/serverNode.ts"

/** The blocks of a document that are to be run, in their order. */
const runnable = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<!-- runnable -->\n```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block)

// Every call of curl tells its status beside what it was asked to do.
const watched = "curl() { command curl -w '%{stderr}%{http_code} %{url_effective}\\n' \"$@\"; }\n"

const run = (script: string, cwd: string) =>
  Effect.async<{ readonly code: unknown; readonly out: string; readonly err: string }>((resume) => {
    const env = { PATH: process.env["PATH"] ?? "", NETOPS_ADMIN_PASSWORD: adminPassword }
    execFile(
      "bash",
      ["-euo", "pipefail", "-c", script],
      { cwd, env },
      (error, out, err) => resume(Effect.succeed({ code: error?.code ?? 0, out, err }))
    )
  })

describe("the commands of the documents", () => {
  it.scopedLive("do what they say", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "netops-docs-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      yield* Effect.promise(() => symlink(resolve("examples"), join(directory, "examples")))
      const database = `docs_${process.pid}_${Date.now()}`
      const node = yield* startNode({ databaseUrl: yield* freshDatabase, database }, { NETOPS_CLUSTER: "0" })
      const calls = { "README.md": 6, "docs/api-guide.md": 30 }
      for (const [path, least] of Object.entries(calls)) {
        const blocks = runnable(yield* Effect.promise(() => readFile(path, "utf8")))
        const { host } = new URL(node.url)
        const { code, err, out } = yield* run(watched + blocks.join("\n").replaceAll("localhost:8080", host), directory)
        assert.strictEqual(code, 0, `${path}: ${err}`)
        const statuses = err.split("\n").filter((line) => line.includes(host))
        assert.isAtLeast(statuses.length, least, path)
        assert.deepStrictEqual(statuses.filter((status) => !/^20[0-2] /.test(status)), [], out)
        if (path === "README.md") {
          assert.include(out, "{\"accepted\":60,\"rejected\":0,\"errors\":[]}")
          assert.match(out, /"MAC":"02:bd:00:00:00:01".*"UniqueIPs":60/)
        }
      }
    }))
})
