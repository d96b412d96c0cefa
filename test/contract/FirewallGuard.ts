import { assert, describe, layer as withLayer } from "@effect/vitest"
import { DateTime, Effect, type Layer, Schedule } from "effect"
import { FirewallGuard, type GuardState } from "../../src/services/FirewallGuard.ts"
import { Nft } from "../../src/services/Nft.ts"

const table = { family: "inet", name: "guarded" }
const add = [{ add: { table } }]
/** The first transaction is refused wherever the table is gone already. */
const restore = [[{ delete: { table } }], [...add, { delete: { table } }]]

const isThere = Effect.map(
  Effect.flatMap(Nft, (nft) => nft.list),
  (objects) => objects.some((object) => JSON.stringify(object).includes(table.name))
)

const armed = (seconds: number) =>
  Effect.gen(function*() {
    const [guards, nft] = yield* Effect.all([FirewallGuard, Nft])
    yield* nft.apply(add)
    const guard = yield* guards.name
    const { deadline } = yield* guards.arm(guard, { restore, seconds })
    return { deadline, guard, guards }
  })

const becomes = (state: Effect.Effect<GuardState, unknown>, kind: GuardState["kind"]) =>
  state.pipe(
    Effect.repeat({ until: (state) => state.kind === kind, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("20 seconds")
  )

/** What every implementation of `FirewallGuard` keeps by the real clock. */
export const firewallGuardContract = <E>(name: string, layer: Layer.Layer<FirewallGuard | Nft, E>) =>
  describe(`FirewallGuard contract: ${name}`, () => {
    withLayer(layer, { timeout: "30 seconds", excludeTestServices: true })((it) => {
      it.effect("restores at its deadline, not before, and says so for good", () =>
        Effect.gen(function*() {
          const { deadline, guard, guards } = yield* armed(2)
          assert.strictEqual((yield* guards.state(guard)).kind, "pending")
          assert.isTrue(yield* isThere)
          yield* becomes(guards.state(guard), "restored")
          assert.isTrue(DateTime.lessThanOrEqualTo(deadline, yield* DateTime.now))
          assert.isFalse(yield* isThere)
          const late = yield* Effect.all([guards.confirm(guard), guards.extend(guard, 9), guards.rollback(guard)])
          assert.deepStrictEqual(late.map(({ kind }) => kind), ["restored", "restored", "restored"])
        }))

      it.effect("restores nothing once it is confirmed", () =>
        Effect.gen(function*() {
          const { guard, guards } = yield* armed(1)
          assert.strictEqual((yield* guards.confirm(guard)).kind, "confirmed")
          yield* Effect.sleep("1500 millis")
          assert.strictEqual((yield* guards.rollback(guard)).kind, "confirmed")
          assert.strictEqual((yield* guards.revive(guard)).kind, "confirmed")
          assert.isTrue(yield* isThere)
        }))

      it.effect("waits for longer when it is extended, and restores at once when it is told to", () =>
        Effect.gen(function*() {
          const { deadline, guard, guards } = yield* armed(1)
          const state = yield* guards.extend(guard, 600)
          assert.isTrue(state.kind === "pending" && DateTime.greaterThan(state.deadline, deadline))
          yield* Effect.sleep("1500 millis")
          assert.isTrue(yield* isThere)
          assert.strictEqual((yield* guards.rollback(guard)).kind, "restored")
          assert.isFalse(yield* isThere)
        }))

      it.effect("tries the next transaction where nft refuses one", () =>
        Effect.gen(function*() {
          const { guard, guards } = yield* armed(600)
          yield* Effect.flatMap(Nft, (nft) => nft.apply([{ delete: { table } }]))
          assert.strictEqual((yield* guards.rollback(guard)).kind, "restored")
        }))

      it.effect("is lost once it is released", () =>
        Effect.gen(function*() {
          const { guard, guards } = yield* armed(600)
          yield* guards.confirm(guard)
          yield* guards.release(guard)
          for (const ask of [guards.state, guards.confirm, guards.rollback, guards.revive]) {
            assert.strictEqual((yield* ask(guard)).kind, "lost")
          }
        }))
    })
  })
