import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer, Redacted } from "effect"
import { Passwords } from "../../src/services/Passwords.ts"

const password = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 256 }),
  fc.constantFrom("correct horse battery staple", " ", "naïve\u0000tail", "naïve\u0000", "日本語のパスワード")
).filter((text) => !/\p{Cs}/u.test(text))

/** What every implementation of `Passwords` keeps. */
export const passwordsContract = (name: string, layer: Layer.Layer<Passwords>, numRuns: number) =>
  describe(`Passwords contract: ${name}`, () => {
    it.effect.prop(
      "a hash tells its password from every other and doesn't show it",
      [password, password],
      ([a, b]) =>
        Effect.gen(function*() {
          const passwords = yield* Passwords
          const hash = yield* passwords.hash(Redacted.make(a))
          if (a.length > 3) assert.notInclude(Redacted.value(hash), a)
          assert.isTrue(yield* passwords.verify(Redacted.make(a), hash))
          assert.strictEqual(yield* passwords.verify(Redacted.make(b), hash), a === b)
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns } }
    )
  })
