import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either, FastCheck as fc } from "effect"
import { decodeCursor, encodeCursor } from "../../src/schema/Page.ts"
import { pageOfRows, positionOf } from "../../src/schema/Position.ts"

const key = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0))
)
const at = fc.integer({ min: 0, max: 253_402_300_799_999 })

describe("cursors", () => {
  it.prop("give back the keys that they were made of", { keys: fc.array(key, { maxLength: 4 }) }, ({ keys }) => {
    const cursor = encodeCursor(keys)
    assert.match(cursor, /^[A-Za-z0-9_-]+$/)
    assert.deepStrictEqual(decodeCursor(cursor, keys.length), keys)
    assert.isUndefined(decodeCursor(cursor, keys.length + 1))
  })

  it.prop("of others are no cursors", {
    text: fc.oneof(fc.string(), fc.base64String(), fc.json().map((json) => Buffer.from(json).toString("base64url")))
  }, ({ text }) => {
    const keys = decodeCursor(text, 2)
    if (keys !== undefined) { for (const key of keys) assert.include(["string", "number"], typeof key) }
    const position = positionOf(text)
    if (Either.isRight(position)) assert.match(position.right!.id, /^[0-9a-f-]{36}$/i)
  }, { fastCheck: { numRuns: 500 } })

  it.prop("name a place in time", { at, id: fc.uuid() }, ({ at, id }) => {
    const position = Either.getOrThrow(positionOf(encodeCursor([at, id])))!
    assert.strictEqual(DateTime.toEpochMillis(position.at), at)
    assert.strictEqual(position.id, id)
  })

  it("outside of the times that a store knows are refused", () => {
    for (
      const keys of [
        [-1, "7d4c1a0e-0000-4000-8000-000000000000"],
        [253_402_300_800_000, "7d4c1a0e-0000-4000-8000-000000000000"],
        [0.5, "7d4c1a0e-0000-4000-8000-000000000000"],
        [0, "x"],
        ["0", "x"]
      ]
    ) {
      assert.isTrue(Either.isLeft(positionOf(encodeCursor(keys))), JSON.stringify(keys))
    }
    assert.deepStrictEqual(positionOf(undefined), Either.right(undefined))
  })

  it.prop(
    "stand on pages that have a next one",
    { rows: fc.nat(20), limit: fc.integer({ min: 1, max: 20 }) },
    ({ limit, rows }) => {
      const all = Array.from(
        { length: rows },
        (_, index) => ({ at: DateTime.unsafeMake(1000 - index), id: "7d4c1a0e-0000-4000-8000-000000000000" })
      )
      const page = pageOfRows(all.slice(0, limit + 1), limit, rows, (row) => row)
      assert.strictEqual(page.items.length, Math.min(rows, limit))
      assert.strictEqual(page.total, rows)
      assert.strictEqual(page.next !== null, rows > limit)
      if (page.next !== null) assert.deepStrictEqual(Either.getOrThrow(positionOf(page.next)), all[limit - 1])
    }
  )
})
