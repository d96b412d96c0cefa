import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Either, FastCheck as fc, type Layer, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { type DhcpFilter, DhcpFilterDraft, DhcpFilterId, dhcpFiltersMax } from "../../src/schema/DhcpFilter.ts"
import { Username } from "../../src/schema/User.ts"
import { DhcpFilters } from "../../src/services/DhcpFilters.ts"
import { Users } from "../../src/services/Users.ts"
import { filterJson } from "../support/arbitraries/filter.ts"
import { encoder, walk } from "./pages.ts"

const encode = encoder(DhcpFilterDraft)
const decode = Schema.decodeUnknownSync(DhcpFilterDraft)
const draftOf = ({ name, rules }: DhcpFilter) => encode({ name, rules })

const draft = fc.record({ name: fc.constantFrom("a", "lab é", "x".repeat(120)), rules: filterJson }).map((json) =>
  decode(json)
)
const start = DateTime.unsafeMake(1_800_000_000_000)
const later = DateTime.add(start, { seconds: 1 })
const newId = () => DhcpFilterId.make(randomUUID())

const newUserId = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return (yield* (yield* Users).create({ username, role: "viewer", passwordHash: Redacted.make("hash") })).id
})

/** What every implementation of `DhcpFilters` keeps. */
export const dhcpFiltersContract = (name: string, layer: Layer.Layer<DhcpFilters | Users>, numRuns: number) =>
  describe(`DhcpFilters contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "a filter is what its user stated last, until it is removed",
        [draft, draft, fc.boolean()],
        ([first, second, renamed]) =>
          Effect.gen(function*() {
            const filters = yield* DhcpFilters
            const userId = yield* newUserId
            const id = newId()
            const created = yield* filters.create({ id, userId, draft: first, at: start })
            assert.deepStrictEqual(draftOf(created), encode(first))
            assert.deepInclude(created, { id, revision: 1, created_at: start, updated_at: start })
            assert.deepStrictEqual(yield* filters.get(userId, id), created)

            const update = renamed ? second : { rules: second.rules }
            const updated = yield* filters.update(userId, id, { update, at: later, expected: [1] })
            assert.deepStrictEqual(
              draftOf(updated),
              encode({ name: renamed ? second.name : first.name, rules: second.rules })
            )
            assert.deepInclude(updated, { id, revision: 2, created_at: start, updated_at: later })
            assert.deepStrictEqual(yield* filters.get(userId, id), updated)
            assert.deepStrictEqual([...yield* filters.revisions([id, newId()])], [[id, 2]])

            const stale = [
              yield* Effect.flip(filters.update(userId, id, { update, at: later, expected: [1, 3] })),
              yield* Effect.flip(filters.remove(userId, id, [1]))
            ]
            for (const error of stale) {
              assert.isTrue(error._tag === "Revision/RevisionMismatch" && error.revision === 2)
            }
            assert.deepStrictEqual(yield* filters.get(userId, id), updated)
            yield* filters.remove(userId, id, [2])
            assert.strictEqual((yield* Effect.flip(filters.get(userId, id)))._tag, "DhcpFilters/FilterMissing")
            assert.strictEqual((yield* Effect.flip(filters.remove(userId, id)))._tag, "DhcpFilters/FilterMissing")
            assert.strictEqual((yield* filters.revisions([id])).size, 0)
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("another user's filter is not there", () =>
        Effect.gen(function*() {
          const filters = yield* DhcpFilters
          const [owner, other] = [yield* newUserId, yield* newUserId]
          const id = newId()
          const mine = yield* filters.create({
            id,
            userId: owner,
            draft: decode({ name: "a", rules: { rules: [] } }),
            at: start
          })
          const refused = [
            yield* Effect.flip(filters.get(other, id)),
            yield* Effect.flip(filters.update(other, id, { update: mine, at: later })),
            yield* Effect.flip(filters.update(other, id, { update: mine, at: later, expected: [7] })),
            yield* Effect.flip(filters.remove(other, id))
          ]
          for (const error of refused) assert.strictEqual(error._tag, "DhcpFilters/FilterMissing")
          assert.deepStrictEqual(yield* filters.list(other, { limit: 10 }), { items: [], total: 0, next: null })
          assert.deepStrictEqual(yield* filters.get(owner, id), mine)
        }))

      it.effect("a user has as many filters as there can be, also when they are made at once", () =>
        Effect.gen(function*() {
          const filters = yield* DhcpFilters
          const userId = yield* newUserId
          const made = yield* Effect.forEach(
            Array.from({ length: dhcpFiltersMax + 5 }, (_, index) => index),
            (index) =>
              Effect.either(filters.create({
                id: newId(),
                userId,
                draft: decode({ name: `filter ${index}`, rules: { rules: [] } }),
                at: DateTime.add(start, { seconds: index % 7 })
              })),
            { concurrency: 8 }
          )
          assert.lengthOf(made.filter(Either.isRight), dhcpFiltersMax)
          const pages = yield* walk(30, (page) => filters.list(userId, page))
          for (const page of pages) assert.strictEqual(page.total, dhcpFiltersMax)
          const keys = pages.flatMap(({ items }) => items).map(({ created_at, id }) =>
            `${DateTime.formatIso(created_at)} ${id}`
          )
          assert.deepStrictEqual(keys, [...new Set(keys)].sort().reverse())
          assert.lengthOf(keys, dhcpFiltersMax)
          const wrong = yield* Effect.flip(filters.list(userId, { limit: 10, cursor: "nonsense" }))
          assert.strictEqual(wrong._tag, "Page/InvalidCursor")
        }))
    })
  })
