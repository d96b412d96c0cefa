import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, type Layer, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import { type UserId, Username } from "../../src/schema/User.ts"
import { FirewallConfigs, type FirewallState, notApplied } from "../../src/services/FirewallConfigs.ts"
import { Users } from "../../src/services/Users.ts"

const at = (minutes: number) => DateTime.unsafeMake(Date.UTC(2026, 0, 31, 8, minutes))

const version = (by: UserId, minutes: number, table: string) => ({
  draft: {
    name: `config ${table}`,
    description: "why",
    comment: `at ${minutes}`,
    ruleset: { nftables: [{ add: { table: { family: "inet", name: table } } }] }
  },
  checksum: `sha256:${minutes}`,
  tables: [`inet ${table}`],
  by,
  at: at(minutes)
})

const active = (tables: ReadonlyArray<string>): FirewallState => ({
  status: "active",
  applied: { version: 1, at: at(5), tables, baseline: [{ table: { family: "inet", name: "a" } }] },
  intent: null,
  pending: null
})
const inactive: FirewallState = { status: "inactive", applied: notApplied, intent: null, pending: null }

const someone = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })
}).pipe(Effect.orDie)

const newId = Effect.sync(() => FirewallConfigId.make(randomUUID()))

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

/** What every implementation of `FirewallConfigs` keeps. */
export const firewallConfigsContract = (name: string, layer: Layer.Layer<FirewallConfigs | Users>) =>
  describe(`FirewallConfigs contract: ${name}`, () => {
    it.layer(layer, { timeout: "30 seconds" })((it) => {
      it.effect("keeps every version, and answers the last", () =>
        Effect.gen(function*() {
          const configs = yield* FirewallConfigs
          const { id: by } = yield* someone
          const id = yield* newId
          const first = yield* configs.create(id, version(by, 0, "v1"))
          assert.strictEqual(first.status, "draft")
          assert.strictEqual(first.version, 1)
          const second = yield* configs.update(id, version(by, 1, "v2"))
          assert.deepStrictEqual(second, yield* configs.get(id))
          assert.strictEqual(second.version, 2)
          assert.deepStrictEqual(second.tables, ["inet v2"])
          assert.deepStrictEqual(second.created_at, at(0))
          assert.deepStrictEqual(second.updated_at, at(1))
          const revisions = yield* configs.revisions(id)
          assert.deepStrictEqual(revisions.map((revision) => revision.version), [2, 1])
          assert.deepStrictEqual(revisions[1], yield* configs.revision(id, 1))
          assert.deepStrictEqual(revisions[1]?.ruleset, first.ruleset)
          assert.strictEqual(yield* tagOf(configs.revision(id, 3)), "FirewallConfigs/Missing")
        }))

      it.effect("of versions saved at once over one edition one is, and every change counts", () =>
        Effect.gen(function*() {
          const configs = yield* FirewallConfigs
          const { id: by } = yield* someone
          const id = yield* newId
          const { edition } = yield* configs.create(id, version(by, 0, "e"))
          const saved = yield* Effect.all(
            Array.from({ length: 8 }, () => Effect.either(configs.update(id, version(by, 1, "e"), [edition]))),
            { concurrency: "unbounded" }
          )
          assert.lengthOf(saved.filter(({ _tag }) => _tag === "Right"), 1)
          for (const result of saved) {
            if (result._tag === "Left") {
              assert.deepInclude(result.left, { _tag: "Revision/RevisionMismatch", revision: edition + 1 })
            }
          }
          assert.strictEqual((yield* configs.update(id, version(by, 2, "e"))).edition, edition + 2)
          yield* configs.settle(id, inactive)
          yield* configs.setDeleted(id, true)
          yield* configs.setDeleted(id, false)
          assert.strictEqual((yield* configs.get(id)).edition, edition + 5)
          assert.strictEqual((yield* configs.get(id)).version, 3)
        }))

      it.effect("hides deleted ones from the list and from updates, and keeps them", () =>
        Effect.gen(function*() {
          const configs = yield* FirewallConfigs
          const { id: by } = yield* someone
          const id = yield* newId
          yield* configs.create(id, version(by, 0, "gone"))
          yield* configs.setDeleted(id, true)
          const listed = (deleted: boolean) =>
            Effect.map(configs.list({ limit: 1000, deleted }), ({ items }) => items.some((item) => item.id === id))
          assert.isFalse(yield* listed(false))
          assert.isTrue(yield* listed(true))
          assert.strictEqual((yield* configs.get(id)).is_deleted, 1)
          assert.strictEqual(yield* tagOf(configs.update(id, version(by, 1, "gone"))), "FirewallConfigs/Missing")
          yield* configs.setDeleted(id, false)
          assert.isTrue(yield* listed(false))
          const unknown = yield* newId
          for (const missing of [configs.get(unknown), configs.revisions(unknown), configs.setDeleted(unknown, true)]) {
            assert.strictEqual(
              yield* tagOf<unknown, { readonly _tag: string }, never>(missing),
              "FirewallConfigs/Missing"
            )
          }
        }))

      it.effect("a table has one owner, also while an apply is under way or waits", () =>
        Effect.gen(function*() {
          const configs = yield* FirewallConfigs
          const { id: by } = yield* someone
          const [one, two] = [yield* newId, yield* newId]
          yield* configs.create(one, version(by, 0, "a"))
          yield* configs.create(two, version(by, 0, "a"))
          const states: ReadonlyArray<FirewallState> = [
            active(["inet a", "inet b"]),
            { ...inactive, intent: { version: 1, tables: ["inet b"], guard: null } },
            {
              ...active(["inet c"]),
              status: "pending_confirmation",
              pending: { guard: "/g", deadline: at(9), previous: active(["inet b"]).applied }
            }
          ]
          for (const state of states) {
            yield* configs.settle(one, state)
            assert.deepStrictEqual(yield* configs.standing(one), { id: one, name: "config a", ...state })
            assert.include((yield* configs.standings).map(({ id }) => id), one)
            const error = yield* Effect.flip(configs.settle(two, active(["inet b"])))
            assert.deepInclude(error, { _tag: "FirewallConfigs/TableOwned", table: "inet b", owner: one })
            yield* configs.settle(two, active(["inet other"]))
            yield* configs.settle(two, inactive)
          }
          yield* configs.settle(one, inactive)
          assert.notInclude((yield* configs.standings).map(({ id }) => id), one)
          yield* configs.settle(two, active(["inet b"]))
          yield* configs.settle(two, inactive)
        }))

      it.effect("runs one at a time", () =>
        Effect.gen(function*() {
          const configs = yield* FirewallConfigs
          let inside = 0
          const step = configs.exclusively(Effect.gen(function*() {
            assert.strictEqual(++inside, 1)
            for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
            inside--
          }))
          const reads = configs.exclusively(configs.standings)
          const all: ReadonlyArray<Effect.Effect<unknown>> = [step, ...Array.from({ length: 20 }, () => reads), step]
          yield* Effect.all(all, { concurrency: "unbounded" })
        }))
    })
  })
