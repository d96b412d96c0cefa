import { assert, it } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { encodeTransaction, inputDirectory, withInputFile } from "../../src/layers/nft/transaction.ts"

const unit = fc.constantFrom("\"", "\\", "\0", "\n", ";", "u0022", "é", "a")
const text = fc.oneof(fc.array(unit).map((units) => units.join("")), fc.string({ unit: "binary" }))

it.effect.prop(
  "says the same as JSON, with no text of a string outside quotes",
  [fc.array(fc.dictionary(text, text))],
  ([
    commands
  ]) =>
    Effect.gen(function*() {
      const encoded = yield* encodeTransaction(commands)
      assert.deepStrictEqual(JSON.parse(encoded), JSON.parse(JSON.stringify({ nftables: commands })))
      assert.match(encoded.replace(/"[^"]*"/g, ""), /^[{}[\],:]*$/)
    }),
  { fastCheck: { numRuns: 500 } }
)

it.effect("refuses what is too deep or too large", () =>
  Effect.gen(function*() {
    const deep = Array.from({ length: 200_000 }).reduce<unknown>((inner) => [inner], null)
    for (const command of [{ add: deep }, { add: "x".repeat(33 * 1024 * 1024) }]) {
      assert.strictEqual((yield* Effect.flip(encodeTransaction([command])))._tag, "Nft/Rejected")
    }
  }))

it.effect("the input file is private, and gone afterwards with its directory", () =>
  Effect.gen(function*() {
    const path = yield* Effect.scoped(Effect.flatMap(inputDirectory, (directory) =>
      Effect.tap(
        withInputFile(directory, "text", (path) =>
          Effect.sync(() => {
            assert.strictEqual(readFileSync(path, "utf8"), "text")
            assert.strictEqual(statSync(path).mode & 0o777, 0o600)
            assert.strictEqual(statSync(dirname(path)).mode & 0o777, 0o700)
            return path
          })),
        (path) => Effect.sync(() => assert.isFalse(existsSync(path)))
      )))
    assert.isFalse(existsSync(dirname(path)))
  }))
