import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer, Option, Redacted } from "effect"
import { roles } from "../../src/schema/Permission.ts"
import { User, UserId, Username } from "../../src/schema/User.ts"
import { Users } from "../../src/services/Users.ts"

const username = fc.oneof(
  fc.constantFrom("admin", "Admin", "ADMIN", "i", "I", "a.b@c-d_e", "A.B@C-D_E"),
  fc.stringMatching(/^[A-Za-z0-9._@-]{1,64}$/)
).map((text) => Username.make(text))
const newUser = fc.record({
  username,
  role: fc.constantFrom(...roles),
  passwordHash: fc.string({ unit: "grapheme-ascii", minLength: 1 }).map(Redacted.make)
})

/** What every implementation of `Users` keeps; the layer is built anew, without users, for each test. */
export const usersContract = (name: string, layer: Layer.Layer<Users>, numRuns: number) =>
  describe(`Users contract: ${name}`, () => {
    it.effect("of many nodes that create the first user at once one does", () =>
      Effect.gen(function*() {
        const users = yield* Users
        const created = yield* Effect.forEach(Array.from({ length: 20 }, (_, index) => index), (index) =>
          users.createFirst({
            username: Username.make(`node-${index}`),
            role: "admin",
            passwordHash: Redacted.make(`hash-${index}`)
          }), { concurrency: "unbounded" })
        assert.lengthOf(created.filter(Option.isSome), 1)
        assert.deepStrictEqual(yield* users.list, created.flatMap(Option.toArray))
        assert.strictEqual(yield* users.count, 1)
      }).pipe(Effect.provide(layer)))

    it.effect("of many that create one name at once one does, in whatever case", () =>
      Effect.gen(function*() {
        const users = yield* Users
        const names = ["Alice", "alice", "ALICE", "aLiCe", "alicE"].map((text) => Username.make(text))
        const results = yield* Effect.forEach(names, (username) =>
          Effect.either(users.create({ username, role: "viewer", passwordHash: Redacted.make("hash") })), {
          concurrency: "unbounded"
        })
        assert.lengthOf(
          results.filter((result) =>
            result._tag === "Right"
          ),
          1
        )
        assert.strictEqual(yield* users.count, 1)
      }).pipe(Effect.provide(layer)))

    it.effect("of changes at once under one revision one is made, and every change counts", () =>
      Effect.gen(function*() {
        const users = yield* Users
        const passwordHash = Redacted.make("hash")
        yield* users.create({ username: Username.make("root"), role: "admin", passwordHash })
        const { id, revision } = yield* users.create({ username: Username.make("ada"), role: "viewer", passwordHash })
        const change = (expected: ReadonlyArray<number> | undefined) =>
          Effect.either(users.change(id, { role: "operator" }, expected))
        const results = yield* Effect.all(Array.from({ length: 10 }, () => change([revision])), {
          concurrency: "unbounded"
        })
        assert.lengthOf(results.filter(({ _tag }) => _tag === "Right"), 1)
        for (const result of results) {
          if (result._tag === "Left") assert.deepInclude(result.left, { revision: revision + 1 })
        }
        assert.strictEqual((yield* change([0]))._tag, "Left")
        assert.strictEqual((yield* change([]))._tag, "Left")
        assert.strictEqual((yield* change([9, revision + 1]))._tag, "Right")
        assert.strictEqual((yield* change(undefined))._tag, "Right")
        assert.strictEqual(Option.getOrThrow(yield* users.get(id)).revision, revision + 3)
      }).pipe(Effect.provide(layer)))

    it.effect("texts that are no username belong to nobody", () =>
      Effect.gen(function*() {
        const users = yield* Users
        for (const text of ["", "\0", "admin\0", "' OR 1=1 --", "\ud800", "ı", "x".repeat(100_000)]) {
          assert.isTrue(Option.isNone(yield* users.findCredentials(text)))
        }
        assert.isTrue(Option.isNone(yield* users.get(UserId.make(2_147_483_647))))
      }).pipe(Effect.provide(layer)))

    it.layer(layer)((it) => {
      it.effect.prop(
        "a user is found as created, by id and by name without case",
        [newUser, newUser],
        ([draft, other]) =>
          Effect.gen(function*() {
            const users = yield* Users
            const before = yield* users.count
            const result = yield* Effect.either(users.create(draft))
            const found = Option.getOrThrow(yield* users.findCredentials(draft.username.toUpperCase()))
            assert.strictEqual(found.user.username.toLowerCase(), draft.username.toLowerCase())
            assert.strictEqual(yield* users.count, before + (result._tag === "Right" ? 1 : 0))
            if (result._tag === "Left") assert.strictEqual(result.left._tag, "Users/UsernameTaken")
            else {
              assert.deepStrictEqual(result.right, found.user)
              assert.strictEqual(found.user.username, draft.username)
              assert.strictEqual(found.user.role, draft.role)
              assert.isFalse(found.user.disabled)
              assert.strictEqual(Redacted.value(found.passwordHash), Redacted.value(draft.passwordHash))
            }
            assert.deepStrictEqual(Option.getOrThrow(yield* users.get(found.user.id)), found.user)
            assert.isTrue((yield* users.list).some(({ id }) => id === found.user.id))
            assert.isTrue(Option.isNone(yield* users.createFirst(other)))

            const lower = Username.make(draft.username.toLowerCase())
            assert.deepStrictEqual(
              yield* users.setPassword(lower, other.passwordHash),
              new User({ ...found.user, revision: found.user.revision + 1 })
            )
            const again = Option.getOrThrow(yield* users.findCredentials(draft.username))
            assert.strictEqual(Redacted.value(again.passwordHash), Redacted.value(other.passwordHash))
            const exists = Option.isSome(yield* users.findCredentials(other.username))
            const changed = yield* Effect.either(users.setPassword(other.username, other.passwordHash))
            assert.strictEqual(changed._tag, exists ? "Right" : "Left")
          }),
        { fastCheck: { numRuns } }
      )
    })
  })
