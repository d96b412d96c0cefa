import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, type Layer, Option, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { type ApiToken, ApiTokenId } from "../../src/schema/ApiToken.ts"
import { Cidr } from "../../src/schema/Ip.ts"
import { permissions } from "../../src/schema/Permission.ts"
import { Username } from "../../src/schema/User.ts"
import { ApiTokens } from "../../src/services/ApiTokens.ts"
import { RequestCounts } from "../../src/services/RequestCounts.ts"
import { Users } from "../../src/services/Users.ts"

const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const at = (seconds: number) => DateTime.add(start, { seconds })
const cidr = Schema.decodeSync(Cidr)

const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })
})

const draft = fc.record({
  name: fc.constantFrom("ci", "наблюдение", "a'b\"c", "{}"),
  scopes: fc.uniqueArray(fc.constantFrom(...permissions), { minLength: 1 }),
  allowedNetworks: fc.subarray([cidr("192.0.2.0/24"), cidr("2001:db8::/32")]),
  createdAt: fc.integer({ min: 0, max: 5 }).map(at),
  expiresAt: fc.option(fc.integer({ min: 10, max: 500 }).map(at))
}).map((fields): ApiToken => ({ ...fields, id: ApiTokenId.make(randomUUID()), lastUsedAt: null }))

/** What every implementation of `ApiTokens` and `RequestCounts` keeps. */
export const apiTokensContract = (
  name: string,
  layer: Layer.Layer<ApiTokens | RequestCounts | Users>,
  numRuns: number
) =>
  describe(`ApiTokens and RequestCounts contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "a token opens what it was made for until it expires, and its use is kept to the minute",
        [draft, fc.array(fc.integer({ min: 6, max: 600 }))],
        ([token, moments]) =>
          Effect.gen(function*() {
            const tokens = yield* ApiTokens
            const user = yield* newUser
            const hash = randomUUID()
            yield* tokens.create(token, user.id, hash)
            let lastUsedAt: DateTime.Utc | null = null
            for (const second of moments.sort((a, b) => a - b)) {
              const found = yield* tokens.resolve(hash, at(second))
              const expired = token.expiresAt !== null && DateTime.lessThanOrEqualTo(token.expiresAt, at(second))
              assert.strictEqual(Option.isNone(found), expired)
              assert.deepStrictEqual(yield* tokens.alive([token.id], at(second)), expired ? [] : [token.id])
              if (Option.isNone(found)) continue
              assert.deepStrictEqual(found.value.user, user)
              assert.deepStrictEqual(found.value.token, { ...token, lastUsedAt })
              if (lastUsedAt === null || DateTime.distance(lastUsedAt, at(second)) >= 60_000) lastUsedAt = at(second)
            }
            const { items } = yield* tokens.list(user.id, { limit: 5 })
            assert.deepStrictEqual(items, [{ ...token, lastUsedAt }])
          }),
        { fastCheck: { numRuns } }
      )

      it.effect.prop(
        "pages are the user's tokens, newest first, and only the owner removes them",
        [fc.array(draft, { maxLength: 8 }), fc.integer({ min: 1, max: 3 })],
        ([drafts, limit]) =>
          Effect.gen(function*() {
            const tokens = yield* ApiTokens
            const [user, other] = [yield* newUser, yield* newUser]
            const made = drafts.map((token) => ({ ...token, id: ApiTokenId.make(randomUUID()) }))
            for (const token of made) yield* tokens.create(token, user.id, randomUUID())
            const seen: Array<ApiToken> = []
            let cursor: string | undefined
            do {
              const page = yield* tokens.list(user.id, { limit, cursor })
              assert.strictEqual(page.total, made.length)
              seen.push(...page.items)
              cursor = page.next ?? undefined
            } while (cursor !== undefined)
            const key = ({ createdAt, id }: ApiToken) => `${DateTime.toEpochMillis(createdAt)} ${id}`
            assert.deepStrictEqual(seen.map(key), made.map(key).sort().reverse())
            assert.deepStrictEqual((yield* tokens.list(other.id, { limit })).items, [])
            for (const { id } of made) {
              assert.isFalse(yield* tokens.remove(id, other.id))
              assert.isTrue(yield* tokens.remove(id, user.id))
              assert.isFalse(yield* tokens.remove(id, user.id))
            }
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("counts of several nodes add up by token and window", () =>
        Effect.gen(function*() {
          const counts = yield* RequestCounts
          const [a, b] = [randomUUID(), randomUUID()]
          const told = (requests: number) =>
            counts.add([{ token: a, windowStart: start, requests }, { token: b, windowStart: start, requests: 1 }])
          yield* Effect.all(Array.from({ length: 20 }, (_, index) => told(index)), { concurrency: "unbounded" })
          assert.deepStrictEqual(yield* told(0), [190, 21])
          assert.deepStrictEqual(yield* counts.add([{ token: a, windowStart: at(60), requests: 2 }]), [2])
          assert.deepStrictEqual(yield* counts.add([]), [])
          yield* counts.purge(at(60))
          assert.deepStrictEqual(yield* told(3), [3, 1])
        }))
    })
  })
