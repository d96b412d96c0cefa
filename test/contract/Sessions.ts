import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, FastCheck as fc, type Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { SessionId } from "../../src/schema/Session.ts"
import { type User, Username } from "../../src/schema/User.ts"
import { Sessions } from "../../src/services/Sessions.ts"
import { Users } from "../../src/services/Users.ts"

const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const idleMinutes = 30
const lifeMinutes = 60
const seconds = (count: number) => DateTime.add(start, { seconds: count })

const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return yield* (yield* Users).create({ username, role: "viewer", passwordHash: Redacted.make("hash") })
})

const opened = new Map<string, SessionId>()

/** The session of a token, which is alive by its id exactly where it is found. */
const resolve = Effect.fnUntraced(function*(tokenHash: string, at: number) {
  const sessions = yield* Sessions
  const moment = { now: seconds(at), idleSince: seconds(at - idleMinutes * 60) }
  const id = opened.get(tokenHash)
  const alive = id === undefined ? [] : yield* sessions.alive([id, SessionId.make(randomUUID())], moment)
  const found = yield* sessions.resolve(tokenHash, moment)
  assert.deepStrictEqual(alive, Option.match(found, { onNone: () => [], onSome: ({ session }) => [session.id] }))
  return found
})

const open = Effect.fnUntraced(function*(user: User) {
  const tokenHash = randomUUID().replaceAll("-", "").repeat(2)
  const sessions = yield* Sessions
  const id = SessionId.make(randomUUID())
  opened.set(tokenHash, id)
  yield* sessions.create({
    id,
    tokenHash,
    address: "192.0.2.1",
    userAgent: "",
    userId: user.id,
    createdAt: start,
    expiresAt: DateTime.addDuration(start, Duration.minutes(lifeMinutes))
  })
  return tokenHash
})

/** Whether each use of a session succeeds: what the port promises, by the second. */
const expectedUses = (uses: ReadonlyArray<number>): ReadonlyArray<boolean> => {
  let seen = 0
  return uses.map((at) => {
    if (at >= lifeMinutes * 60 || at - idleMinutes * 60 >= seen) return false
    if (at - seen >= 60) seen = at
    return true
  })
}

/** What every implementation of `Sessions` keeps; `disable` does so to a user, which the ports can't. */
export const sessionsContract = <R>(
  name: string,
  layer: Layer.Layer<Sessions | Users | R>,
  disable: (username: Username, disabled: boolean) => Effect.Effect<unknown, never, R>,
  numRuns: number
) =>
  describe(`Sessions contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "a session lives until it expires or goes unused, recorded to the minute",
        [fc.array(
          fc.oneof(fc.integer({ min: 0, max: 4000 }), fc.constantFrom(0, 59, 60, 1799, 1800, 1860, 3599, 3600))
        )],
        ([moments]) =>
          Effect.gen(function*() {
            const user = yield* newUser
            const tokenHash = yield* open(user)
            const uses = moments.sort((a, b) => a - b)
            const resolved = yield* Effect.forEach(uses, (at) => resolve(tokenHash, at))
            assert.deepStrictEqual(resolved.map(Option.isSome), [...expectedUses(uses)])
            for (const found of resolved) if (Option.isSome(found)) assert.deepStrictEqual(found.value.user, user)
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("unknown tokens and disabled users have no session", () =>
        Effect.gen(function*() {
          const user = yield* newUser
          const tokenHash = yield* open(user)
          assert.isTrue(Option.isNone(yield* resolve("0".repeat(64), 0)))
          yield* disable(user.username, true)
          assert.isTrue(Option.isNone(yield* resolve(tokenHash, 1)))
          yield* disable(user.username, false)
          assert.isTrue(Option.isSome(yield* resolve(tokenHash, 2)))
        }))

      it.effect("a new password ends no session, endAll ends all of the user and nobody else's", () =>
        Effect.gen(function*() {
          const [user, other] = [yield* newUser, yield* newUser]
          const own = [yield* open(user), yield* open(user)]
          const others = yield* open(other)
          yield* (yield* Users).setPassword(user.username, Redacted.make("another"))
          for (const tokenHash of own) assert.isTrue(Option.isSome(yield* resolve(tokenHash, 1)))
          yield* (yield* Sessions).endAll(user.id)
          for (const tokenHash of own) assert.isTrue(Option.isNone(yield* resolve(tokenHash, 1)))
          assert.isTrue(Option.isSome(yield* resolve(others, 1)))
        }))

      it.effect("uses at once all succeed", () =>
        Effect.gen(function*() {
          const tokenHash = yield* open(yield* newUser)
          const uses = yield* Effect.forEach(
            Array.from({ length: 30 }, (_, index) => 600 + index),
            (at) => resolve(tokenHash, at),
            { concurrency: "unbounded" }
          )
          assert.isTrue(uses.every(Option.isSome))
          assert.isTrue(Option.isSome(yield* resolve(tokenHash, 2399)))
        }))
    })
  })
