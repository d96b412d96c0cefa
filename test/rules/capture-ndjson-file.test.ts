import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { ndjsonFile } from "../../src/layers/capture/NdjsonFile.ts"

const bundled = "examples/traffic/kea-perfdhcp.ndjson.gz"

const read = (path: string) =>
  Stream.runFold(ndjsonFile(path), Buffer.alloc(0), (all, chunk) => Buffer.concat([all, chunk]))

it.effect("reads event lines plain and gzipped, and says what it can't read", () =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "netops-test-"))),
    (directory) =>
      Effect.gen(function*() {
        const text = gunzipSync(readFileSync(bundled))
        const plain = join(directory, "plain.gz")
        writeFileSync(plain, text)
        assert.isTrue(text.equals(yield* read(bundled)))
        assert.isTrue(text.equals(yield* read(plain)))
        const empty = join(directory, "empty")
        writeFileSync(empty, "")
        assert.strictEqual((yield* read(empty)).length, 0)
        const cut = join(directory, "cut.gz")
        writeFileSync(cut, readFileSync(bundled).subarray(0, 5000))
        const reasons = yield* Effect.forEach([cut, directory, join(directory, "none")], (path) =>
          Effect.flip(read(path)))
        assert.deepStrictEqual(
          reasons.map(({ reason }) =>
            reason
          ),
          ["other", "not-a-capture", "not-found"]
        )
      }),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ))
