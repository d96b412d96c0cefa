import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, type Layer, Redacted } from "effect"
import { Secrets } from "../../src/services/Secrets.ts"

const text = fc.string({ unit: "binary" }).filter((value) => !/\p{Cs}/u.test(value))

/** What every implementation of `Secrets` keeps. */
export const secretsContract = <E>(name: string, layer: Layer.Layer<Secrets, E>, numRuns: number) =>
  describe(`Secrets contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "what was sealed opens in its context and in no other",
        [text, text, text],
        ([secret, context, other]) =>
          Effect.gen(function*() {
            const secrets = yield* Secrets
            const sealed = yield* secrets.seal(Redacted.make(secret), context)
            if (secret.length > 5) assert.notInclude(sealed, secret)
            assert.strictEqual(Redacted.value(yield* secrets.open(sealed, context)), secret)
            if (context === other) return
            const refused = yield* Effect.exit(secrets.open(sealed, other))
            assert.isTrue(Exit.isFailure(refused) && refused.cause._tag === "Die")
          }),
        { fastCheck: { numRuns } }
      )
    })
  })
