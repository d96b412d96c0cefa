import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Redacted } from "effect"
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SecretsAesGcm } from "../../src/layers/SecretsAesGcm.ts"
import { Secrets } from "../../src/services/Secrets.ts"
import { secretsContract } from "./Secrets.ts"

const withConfig = (variables: Readonly<Record<string, string>>) =>
  Layer.fresh(SecretsAesGcm).pipe(
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))))
  )
const key = (octet: string) => octet.repeat(32)

secretsContract("AES-256-GCM", withConfig({ NETOPS_SECRET_KEY: key("5a") }), 100)

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-key-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)
const seal = (text: string) => Effect.flatMap(Secrets, (secrets) => secrets.seal(Redacted.make(text), "test"))
const open = (sealed: string) => Effect.flatMap(Secrets, (secrets) => secrets.open(sealed, "test"))

describe("the key of stored secrets", () => {
  it.scoped("is made once in the data directory, for its owner alone, however many start at once", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const layer = () => withConfig({ NETOPS_DATA_DIR: path })
      const sealed = yield* Effect.all(
        Array.from({ length: 8 }, () => Effect.provide(seal("hidden"), layer())),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(path)), ["secret.key"])
      assert.strictEqual((yield* Effect.promise(() => stat(join(path, "secret.key")))).mode & 0o777, 0o600)
      for (const text of sealed) {
        assert.strictEqual(Redacted.value(yield* Effect.provide(open(text), layer())), "hidden")
      }
      const kept = yield* Effect.promise(() => readFile(join(path, "secret.key"), "utf8"))
      const same = withConfig({ NETOPS_SECRET_KEY: Buffer.from(kept, "base64").toString("hex") })
      assert.strictEqual(Redacted.value(yield* Effect.provide(open(sealed[0]!), same)), "hidden")
    }))

  it.effect("opens nothing of another key, nothing that was changed, and is 32 bytes", () =>
    Effect.gen(function*() {
      const own = withConfig({ NETOPS_SECRET_KEY: key("5a") })
      const sealed = yield* Effect.provide(seal("hidden"), own)
      assert.notStrictEqual(yield* Effect.provide(seal("hidden"), own), sealed)
      const last = sealed.endsWith("A") ? "Q" : "A"
      const attempts = [
        Effect.provide(open(sealed), withConfig({ NETOPS_SECRET_KEY: key("5b") })),
        Effect.provide(open(sealed.slice(0, 10) + (sealed[10] === "A" ? "B" : "A") + sealed.slice(11)), own),
        Effect.provide(open(sealed.slice(0, -2) + last + last), own),
        Effect.provide(open("v1."), own),
        Effect.provide(open(""), own)
      ]
      for (const attempt of attempts) {
        const exit = yield* Effect.exit(attempt)
        assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Die")
      }
      for (const wrong of ["short", key("5"), key("zz")]) {
        const error = yield* Effect.flip(Layer.build(withConfig({ NETOPS_SECRET_KEY: wrong })))
        assert.strictEqual((error as { _tag: string })._tag, "SecretKeyUnusable")
        assert.notInclude(String(error), wrong)
      }
    }).pipe(Effect.scoped))
})
