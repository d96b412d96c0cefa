import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Redacted } from "effect"
import { Ids } from "../../src/services/Ids.ts"

const many = 1000

/** What every implementation of `Ids` keeps. */
export const idsContract = (name: string, layer: Layer.Layer<Ids>) =>
  describe(`Ids contract: ${name}`, () => {
    it.effect("ids are distinct version 4 UUIDs", () =>
      Effect.gen(function*() {
        const { uuid } = yield* Ids
        const ids = yield* Effect.replicateEffect(uuid, many)
        for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.strictEqual(new Set(ids).size, many)
      }).pipe(Effect.provide(layer)))

    it.effect("secrets are distinct, of 256 bits in base64url, and print as redacted", () =>
      Effect.gen(function*() {
        const { secret } = yield* Ids
        const secrets = yield* Effect.replicateEffect(secret, many)
        for (const value of secrets) {
          assert.match(Redacted.value(value), /^[A-Za-z0-9_-]{43}$/)
          assert.notInclude(String(value), Redacted.value(value))
        }
        assert.strictEqual(new Set(secrets.map(Redacted.value)).size, many)
      }).pipe(Effect.provide(layer)))
  })
