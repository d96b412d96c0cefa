import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, TestClock } from "effect"
import type { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import { UserId } from "../../src/schema/User.ts"
import { Firewall } from "../../src/services/Firewall.ts"
import { FirewallConfigs } from "../../src/services/FirewallConfigs.ts"
import { FirewallGuard, GuardUnavailable } from "../../src/services/FirewallGuard.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { Nft } from "../../src/services/Nft.ts"
import { AuditTrailMemory } from "../layers/AuditTrailMemory.ts"
import { FirewallConfigsMemory } from "../layers/FirewallConfigsMemory.ts"
import { FirewallGuardMemory } from "../layers/FirewallGuardMemory.ts"
import { IdsSequence } from "../layers/IdsSequence.ts"
import { NftMemory } from "../layers/NftMemory.ts"

const by = UserId.make(1)

const ruleset = (table: string, policy: string) => ({
  nftables: [
    { add: { table: { family: "inet", name: table } } },
    { add: { chain: { family: "inet", table, name: "in", type: "filter", hook: "input", prio: 0, policy } } }
  ]
})
const draft = (table: string, policy: string) => ({
  name: table,
  description: "",
  comment: "",
  ruleset: ruleset(table, policy)
})
const request = (confirmSeconds: number) => ({
  confirmSeconds,
  comment: undefined,
  expectedVersion: undefined,
  adopt: false
})

/** The guards of `away` are on a node that doesn't answer. */
const away = new Set<string>()
const FirewallGuardAway = Layer.effect(
  FirewallGuard,
  Effect.map(FirewallGuard, (guards) => {
    const near = <A>(guard: string, effect: Effect.Effect<A, GuardUnavailable>) =>
      Effect.suspend(() =>
        away.has(guard) ? Effect.fail(new GuardUnavailable({ reason: "the guard is on another node" })) : effect
      )
    return FirewallGuard.of({
      ...guards,
      state: (guard) => near(guard, guards.state(guard)),
      revive: (guard) => near(guard, guards.revive(guard)),
      confirm: (guard) => near(guard, guards.confirm(guard))
    })
  })
).pipe(Layer.provide(FirewallGuardMemory))

const layer = FirewallLive.pipe(
  Layer.provideMerge(Layer.mergeAll(FirewallConfigsMemory, FirewallGuardAway, IdsSequence, AuditTrailMemory)),
  Layer.provideMerge(NftMemory),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map()))),
  Layer.orDie
)

const policyOf = (table: string) =>
  Effect.map(Effect.flatMap(Nft, (nft) => nft.list), (objects) => {
    const found = objects.map(({ chain }) => chain as Record<string, unknown> | undefined).find((chain) =>
      chain?.["table"] === table
    )
    return found?.["policy"]
  })

/** Two configurations that wait to be confirmed, the second over an earlier version of itself. */
const pendings = Effect.gen(function*() {
  const firewall = yield* Firewall
  const a = yield* firewall.create(draft("a", "drop"), by)
  const b = yield* firewall.create(draft("b", "accept"), by)
  yield* firewall.apply(b.id, request(0))
  yield* firewall.update(b.id, draft("b", "drop"), by)
  yield* firewall.apply(a.id, request(30))
  yield* firewall.apply(b.id, request(10))
  const configs = yield* FirewallConfigs
  const guardOf = (id: FirewallConfigId) =>
    Effect.map(configs.standing(id), ({ pending }) => {
      assert.isNotNull(pending)
      return pending!.guard
    })
  return { firewall, configs, guards: yield* FirewallGuard, a: a.id, b: b.id, guardOf }
})

const run = <A, E>(test: Effect.Effect<A, E, Firewall | FirewallConfigs | FirewallGuard | Nft>) =>
  Effect.provide(test, layer)

describe("a guard that is gone", () => {
  it.effect("is replaced by the service at its deadline, and other guards are looked after meanwhile", () =>
    run(Effect.gen(function*() {
      const { a, b, configs, firewall, guardOf, guards } = yield* pendings
      yield* guards.release(yield* guardOf(b))
      yield* TestClock.adjust("9 seconds")
      yield* firewall.reconcile(true)
      assert.strictEqual((yield* configs.standing(b)).status, "pending_confirmation")
      assert.strictEqual(yield* policyOf("b"), "drop")
      yield* TestClock.adjust("2 seconds")
      yield* firewall.reconcile(false)
      const { applied, pending, status } = yield* configs.standing(b)
      assert.deepStrictEqual({ status, pending, version: applied.version }, {
        status: "active",
        pending: null,
        version: 1
      })
      assert.strictEqual(yield* policyOf("b"), "accept")
      assert.strictEqual((yield* firewall.running).drift.find(({ id }) => id === b)?.diff.identical, true)
      assert.strictEqual((yield* configs.standing(a)).status, "pending_confirmation")
      yield* TestClock.adjust("20 seconds")
      yield* firewall.reconcile(false)
      assert.strictEqual((yield* configs.standing(a)).status, "inactive")
      assert.isUndefined(yield* policyOf("a"))
    })))

  it.effect("leaves nothing undone where what ran before is back already", () =>
    run(Effect.gen(function*() {
      const { b, configs, firewall, guardOf, guards } = yield* pendings
      yield* guards.rollback(yield* guardOf(b))
      yield* guards.release(yield* guardOf(b))
      const before = yield* Effect.flatMap(Nft, (nft) => nft.list)
      yield* TestClock.adjust("11 seconds")
      yield* firewall.reconcile(false)
      assert.strictEqual((yield* configs.standing(b)).applied.version, 1)
      assert.deepStrictEqual(yield* Effect.flatMap(Nft, (nft) => nft.list), before)
    })))

  it.effect("is confirmed, extended and rolled back all the same", () =>
    run(Effect.gen(function*() {
      const { a, b, configs, firewall, guardOf, guards } = yield* pendings
      yield* guards.release(yield* guardOf(a))
      yield* guards.release(yield* guardOf(b))
      yield* firewall.extend(b, 100)
      yield* TestClock.adjust("20 seconds")
      yield* firewall.reconcile(false)
      assert.strictEqual((yield* configs.standing(b)).status, "pending_confirmation")
      assert.strictEqual((yield* firewall.confirm(b)).applied_version, 2)
      assert.strictEqual(yield* policyOf("b"), "drop")
      assert.strictEqual((yield* firewall.rollback(a)).status, "inactive")
      assert.isUndefined(yield* policyOf("a"))
    })))

  it.effect("isn't confirmed where the kernel has something else: what ran before comes back", () =>
    run(Effect.gen(function*() {
      const { b, configs, firewall, guardOf, guards } = yield* pendings
      yield* guards.release(yield* guardOf(b))
      yield* Effect.flatMap(Nft, (nft) => nft.apply([{ delete: { table: { family: "inet", name: "b" } } }]))
      const error = yield* Effect.flip(firewall.confirm(b))
      assert.deepInclude(error, { _tag: "Firewall/NothingPending", restored: true })
      assert.strictEqual((yield* configs.standing(b)).applied.version, 1)
      assert.strictEqual(yield* policyOf("b"), "accept")
    })))

  it.effect("on another node is waited for, a minute at most", () =>
    run(Effect.gen(function*() {
      const { a, b, configs, firewall, guardOf } = yield* pendings
      const guard = yield* guardOf(b)
      away.add(guard)
      assert.strictEqual((yield* Effect.flip(firewall.confirm(b)))._tag, "FirewallGuard/Unavailable")
      yield* TestClock.adjust("60 seconds")
      yield* firewall.reconcile(false)
      assert.strictEqual((yield* configs.standing(b)).status, "pending_confirmation")
      assert.strictEqual((yield* configs.standing(a)).status, "inactive")
      yield* TestClock.adjust("10 seconds")
      yield* firewall.reconcile(false)
      assert.strictEqual((yield* configs.standing(b)).applied.version, 1)
      assert.strictEqual(yield* policyOf("b"), "accept")
    })))

  it.effect("of an apply that a crash cut off: what it began is undone, and what it didn't touch stays", () =>
    run(Effect.gen(function*() {
      const firewall = yield* Firewall
      const configs = yield* FirewallConfigs
      const nft = yield* Nft
      const { id } = yield* firewall.create(draft("c", "drop"), by)
      const cutOff = Effect.gen(function*() {
        const standing = yield* configs.standing(id)
        yield* configs.settle(id, { ...standing, intent: { version: 1, tables: ["inet c"], guard: "none" } })
        yield* firewall.reconcile(true)
      })
      yield* nft.apply(ruleset("c", "accept").nftables)
      yield* cutOff
      assert.strictEqual(yield* policyOf("c"), "accept")
      yield* nft.apply(ruleset("c", "drop").nftables)
      yield* cutOff
      assert.isUndefined(yield* policyOf("c"))
      assert.isNull((yield* configs.standing(id)).intent)
    })))
})
