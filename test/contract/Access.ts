import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Either, FastCheck as fc, type Layer, Option, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { FeedbackId } from "../../src/schema/Feedback.ts"
import { IpRestrictionDraft, IpRestrictionId } from "../../src/schema/IpRestriction.ts"
import { Username } from "../../src/schema/User.ts"
import { mergeSettings, type UserSettings } from "../../src/schema/UserSettings.ts"
import { FeedbackBox } from "../../src/services/FeedbackBox.ts"
import { type Claim, IdempotencyKeys, type KeyScope } from "../../src/services/IdempotencyKeys.ts"
import { IpRestrictions } from "../../src/services/IpRestrictions.ts"
import { Preferences } from "../../src/services/Preferences.ts"
import { Users } from "../../src/services/Users.ts"

const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const seconds = (count: number) => DateTime.add(start, { seconds: count })
const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return yield* (yield* Users).create({ username, role: "viewer", passwordHash: Redacted.make("hash") })
})

const draftOf = Schema.decodeUnknownSync(IpRestrictionDraft)

const restrict = Effect.fnUntraced(function*(type: "allow" | "deny", network: string, more: object = {}) {
  const user = yield* newUser
  const id = IpRestrictionId.make(randomUUID())
  const draft = draftOf({ type, network, ...more })
  const restrictions = yield* IpRestrictions
  const created = yield* restrictions.create(
    { id, userId: user.id, draft, by: user.id, at: start },
    () => true
  )
  return { id, user, created }
})

const settings = fc.record({
  theme: fc.constantFrom("light" as const, "dark" as const),
  rows_per_page: fc.integer({ min: 1, max: 1000 }),
  default_filter_id: fc.option(fc.uuid()),
  notifications: fc.record({ email: fc.boolean(), in_app: fc.boolean() }, { requiredKeys: [] })
}, { requiredKeys: [] }) as fc.Arbitrary<UserSettings>

/** What every implementation of the ports of access keeps. */
export const accessContract = (
  name: string,
  layer: Layer.Layer<Users | IpRestrictions | Preferences | FeedbackBox | IdempotencyKeys>,
  numRuns: number
) =>
  describe(`access contracts: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect("an IP restriction is found as stated, listed, switched, counted and removed", () =>
        Effect.gen(function*() {
          const restrictions = yield* IpRestrictions
          const { created, id, user } = yield* restrict("deny", "2001:DB8::/33", { priority: 7, description: "lab" })
          assert.strictEqual(created.entry.network, "2001:db8::/33")
          assert.strictEqual(created.entry.match_count, 0)
          assert.isNull(created.entry.last_matched_at)
          assert.deepStrictEqual(yield* restrictions.get(id), Option.some(created))
          assert.deepStrictEqual(yield* restrictions.ofUser(user.id), [created.entry])
          assert.deepStrictEqual((yield* restrictions.enabled).rules.get(user.id)?.map((rule) => rule.id), [id])

          const before = yield* restrictions.revision
          const off = { enabled: false, at: seconds(1), expected: [1] }
          const changed = yield* restrictions.setEnabled(id, off, () => true)
          assert.deepStrictEqual(changed, {
            entry: { ...created.entry, enabled: false, updated_at: seconds(1) },
            revision: 2
          })
          assert.notStrictEqual(yield* restrictions.revision, before)
          assert.isUndefined((yield* restrictions.enabled).rules.get(user.id))

          const counted = yield* restrictions.revision
          yield* restrictions.countMatches([{ id, count: 3, last: seconds(9) }])
          yield* restrictions.countMatches([{ id, count: 2, last: seconds(5) }])
          const [entry] = yield* restrictions.ofUser(user.id)
          assert.strictEqual(entry?.match_count, 5)
          assert.deepStrictEqual(entry?.last_matched_at, seconds(9))
          assert.strictEqual(yield* restrictions.revision, counted)

          const stale = yield* Effect.flip(restrictions.setEnabled(id, off, () => true))
          assert.isTrue(stale._tag === "Revision/RevisionMismatch" && stale.revision === 2)
          const refused = yield* Effect.flip(restrictions.remove(id, undefined, (after) => after.length > 0))
          assert.strictEqual(refused._tag, "IpRestrictions/RestrictionRefused")
          yield* restrictions.remove(id, [2], (after) => after.length === 0)
          assert.isTrue(Option.isNone(yield* restrictions.get(id)))
          assert.strictEqual(
            (yield* Effect.flip(restrictions.remove(id, undefined, () => true)))._tag,
            "IpRestrictions/RestrictionMissing"
          )
        }))

      it.effect("of changes at once that together would be refused one is", () =>
        Effect.gen(function*() {
          const restrictions = yield* IpRestrictions
          const { id, user } = yield* restrict("allow", "192.0.2.0/24")
          const other = IpRestrictionId.make(randomUUID())
          const draft = draftOf({ type: "allow", network: "198.51.100.0/24" })
          yield* restrictions.create({ id: other, userId: user.id, draft, by: user.id, at: start }, () => true)
          const results = yield* Effect.forEach(
            [id, other],
            (each) => Effect.either(restrictions.remove(each, undefined, (after) => after.length > 0)),
            { concurrency: "unbounded" }
          )
          assert.lengthOf(results.filter(Either.isRight), 1)
          assert.lengthOf(yield* restrictions.ofUser(user.id), 1)
        }))

      it.effect.prop("settings are what was given last of each", [fc.array(settings, { maxLength: 5 })], ([given]) =>
        Effect.gen(function*() {
          const { id } = yield* newUser
          const preferences = yield* Preferences
          assert.deepStrictEqual(yield* preferences.get(id), { settings: {}, revision: 0 })
          for (const each of given) {
            yield* preferences.merge(id, each, undefined)
          }
          const expected = given.reduce(mergeSettings, {})
          assert.deepStrictEqual(yield* preferences.get(id), { settings: expected, revision: given.length })
        }), { fastCheck: { numRuns } })

      it.effect("settings that are changed at once lose nothing, and one of equal expectations wins", () =>
        Effect.gen(function*() {
          const { id } = yield* newUser
          const preferences = yield* Preferences
          const given: ReadonlyArray<UserSettings> = [
            { theme: "dark" },
            { rows_per_page: 7 },
            { notifications: { email: true } },
            { notifications: { in_app: false } },
            { week_start: "monday" }
          ]
          yield* Effect.forEach(given, (each) =>
            preferences.merge(id, each, undefined), { concurrency: "unbounded" })
          assert.deepStrictEqual(yield* preferences.get(id), { settings: given.reduce(mergeSettings, {}), revision: 5 })
          const results = yield* Effect.forEach(
            times(20),
            (n) =>
              Effect.either(preferences.merge(id, { rows_per_page: n + 100 }, [5])),
            { concurrency: "unbounded" }
          )
          assert.lengthOf(results.filter(Either.isRight), 1)
          assert.strictEqual((yield* preferences.get(id)).revision, 6)
        }))

      it.effect("five messages an hour are taken from a user, also at once", () =>
        Effect.gen(function*() {
          const [user, other] = [yield* newUser, yield* newUser]
          const box = yield* FeedbackBox
          const send = (userId: typeof user.id, at: DateTime.Utc) =>
            box.submit({
              id: FeedbackId.make(randomUUID()),
              userId,
              draft: { category: "bug", message: "m", context: { a: 1 } },
              at
            })
          const sent = yield* Effect.forEach(times(12), () =>
            Effect.either(send(user.id, start)), {
            concurrency: "unbounded"
          })
          assert.lengthOf(sent.filter(Either.isRight), 5)
          yield* send(other.id, start)
          assert.strictEqual((yield* Effect.flip(send(user.id, seconds(3000)))).retryAfterSeconds, 600)
          const last = yield* send(user.id, seconds(3600))
          const page = yield* box.list({ limit: 1 })
          assert.deepStrictEqual(page.items, [last])
        }))

      const scopeOf = Effect.map(newUser, ({ id }): KeyScope => ({ userId: id, method: "POST", path: "/x", key: "k" }))
      const claim = (scope: KeyScope, at: number, fingerprint = "f", claimId = randomUUID()) =>
        Effect.flatMap(IdempotencyKeys, (keys) =>
          keys.claim({
            scope,
            claimId,
            fingerprint,
            at: seconds(at),
            leaseUntil: seconds(at + 30),
            expiresAt: seconds(at + 86_400)
          }))
      const answer = { status: 201, headers: { location: "/x/1" }, body: "{\"a\":1}" }

      it.effect("of claims at once one is granted, and all learn its answer", () =>
        Effect.gen(function*() {
          const keys = yield* IdempotencyKeys
          const scope = yield* scopeOf
          const ids = times(20).map(() =>
            randomUUID()
          )
          const claims = yield* Effect.forEach(ids, (id) => claim(scope, 0, "f", id), { concurrency: "unbounded" })
          const granted = claims.flatMap(({ _tag }, index) => _tag === "Granted" ? [ids[index]!] : [])
          assert.lengthOf(granted, 1)
          assert.lengthOf(claims.filter(({ _tag }) => _tag === "InFlight"), 19)
          assert.strictEqual((yield* claim(scope, 1, "other"))._tag, "Reused")
          assert.isFalse(yield* keys.finish(scope, randomUUID(), answer))
          assert.isTrue(yield* keys.finish(scope, granted[0]!, answer))
          assert.deepStrictEqual(yield* claim(scope, 2), { _tag: "Answered", answer } satisfies Claim)
          assert.strictEqual((yield* claim(scope, 2, "other"))._tag, "Reused")
          assert.strictEqual((yield* claim({ ...scope, key: "l" }, 2))._tag, "Granted")
          assert.strictEqual((yield* claim({ ...scope, path: "/y" }, 2))._tag, "Granted")
          assert.strictEqual((yield* claim(scope, 86_400, "other"))._tag, "Granted")
        }))

      it.effect("a lease that ran out is given to another, and the first has lost it", () =>
        Effect.gen(function*() {
          const keys = yield* IdempotencyKeys
          const scope = yield* scopeOf
          const [first, second] = [randomUUID(), randomUUID()]
          yield* claim(scope, 0, "f", first)
          assert.isTrue(yield* keys.renew(scope, first, seconds(60)))
          assert.strictEqual((yield* claim(scope, 59, "f", second))._tag, "InFlight")
          assert.strictEqual((yield* claim(scope, 60, "f", second))._tag, "Granted")
          assert.isFalse(yield* keys.renew(scope, first, seconds(99)))
          assert.isFalse(yield* keys.finish(scope, first, answer))
          yield* keys.release(scope, first)
          assert.strictEqual((yield* claim(scope, 61))._tag, "InFlight")
          yield* keys.release(scope, second)
          assert.strictEqual((yield* claim(scope, 62, "other"))._tag, "Granted")
          yield* keys.forget(seconds(90_000))
          assert.strictEqual((yield* claim(scope, 63, "third"))._tag, "Granted")
        }))
    })
  })
