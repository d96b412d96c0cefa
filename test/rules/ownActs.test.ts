import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, DateTime, Effect, Layer, Schema, TestClock } from "effect"
import { FirstAdminLive } from "../../src/layers/FirstAdmin.ts"
import { RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import { UserId } from "../../src/schema/User.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { Firewall } from "../../src/services/Firewall.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { Ids } from "../../src/services/Ids.ts"
import { Nft } from "../../src/services/Nft.ts"
import { RuleRunner, RuleRunnerLive } from "../../src/services/RuleRunner.ts"
import { beginning, MemoryPorts } from "../support/testApi.ts"

const TestLive = Layer.merge(RuleRunnerLive, FirewallLive).pipe(
  Layer.provideMerge(MemoryPorts),
  Layer.provide(Layer.effectDiscard(TestClock.setTime(beginning)))
)

const actsOf = (username: string) =>
  Effect.flatMap(
    AuditTrail,
    (trail) => Effect.map(Effect.orDie(trail.list({ limit: 100, username })), ({ items }) => items)
  )

const ruleset = {
  nftables: [
    { add: { table: { family: "inet", name: "fw" } } },
    { add: { chain: { family: "inet", table: "fw", name: "in", type: "filter", hook: "input", prio: 0 } } }
  ]
}
const draft = { name: "edge", description: "", comment: "", ruleset }
const apply = { confirmSeconds: 60, comment: undefined, expectedVersion: undefined, adopt: false }

describe("what the service does by itself is recorded", () => {
  it.effect("when a guard restores, and when upkeep applies again", () =>
    Effect.gen(function*() {
      const firewall = yield* Firewall
      const { id } = yield* firewall.create(draft as never, UserId.make(1))
      yield* firewall.apply(id, apply)
      yield* TestClock.adjust("61 seconds")
      yield* firewall.reconcile(false)
      yield* firewall.reconcile(false)
      const restored = yield* actsOf("system:guard")
      assert.deepStrictEqual(restored.map(({ operation, target }) => [operation, target]), [["firewall.restored", id]])
      assert.deepInclude(restored[0]!.before, { version: 1, tables: ["inet fw"] })
      assert.deepInclude(restored[0]!.after, { status: "inactive", version: null, tables: [] })

      yield* firewall.apply(id, { ...apply, confirmSeconds: 0 })
      yield* firewall.reconcile(true)
      assert.lengthOf(yield* actsOf("system:upkeep"), 0)
      yield* (yield* Nft).apply([{ delete: { table: { family: "inet", name: "fw" } } }] as never)
      yield* firewall.reconcile(true)
      const again = yield* actsOf("system:upkeep")
      assert.deepStrictEqual(again.map(({ operation, target }) => [operation, target]), [["firewall.reapplied", id]])
    }).pipe(Effect.provide(TestLive)))

  it.effect("when a schedule acts, and not when it acts on nothing", () =>
    Effect.gen(function*() {
      const rules = yield* AutomationRules
      const events = yield* DhcpEvents
      const runner = yield* RuleRunner
      const id = RuleId.make(yield* (yield* Ids).uuid)
      const busy = Schema.decodeSync(RuleDraft)({
        name: "busy",
        mode: "enforce",
        threshold: { min_requests: 1 },
        actions: ["block"]
      })
      const rule = yield* rules.create({ id, draft: busy, by: UserId.make(1), at: beginning })
      const run = runner.run(rule, { dry_run: false }, { trigger: "schedule", userId: null, requestId: "r" })
      yield* run
      assert.lengthOf(yield* actsOf("system:scheduler"), 0)
      const event = {
        event_time: DateTime.formatIso(DateTime.subtract(beginning, { minutes: 1 })),
        protocol: "dhcpv4",
        message_type: "discover",
        client_mac: "02:bd:00:00:00:01"
      }
      yield* events.append({ number: 1, events: [event as never] })
      const { ActionsTriggered } = yield* run
      assert.strictEqual(ActionsTriggered, 1)
      yield* run
      const acts = yield* actsOf("system:scheduler")
      assert.deepStrictEqual(acts.map(({ operation, target }) => [operation, target]), [
        ["automation.scheduledRun", id]
      ])
      assert.deepInclude(acts[0]!.after, { rule: "busy", macs_detected: 1, actions_triggered: 1 })
      yield* runner.run(rule, { dry_run: false }, { trigger: "manual", userId: null, requestId: "r" })
      assert.lengthOf(yield* actsOf("system:scheduler"), 1)
    }).pipe(Effect.provide(TestLive)))

  it.effect("when it creates the first administrator", () =>
    Effect.gen(function*() {
      const password = "correct horse battery"
      const configured = Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["NETOPS_ADMIN_PASSWORD", password]])))
      yield* Effect.provide(Effect.void, Layer.provide(FirstAdminLive, configured))
      yield* Effect.provide(Effect.void, Layer.provide(FirstAdminLive, configured))
      const acts = yield* actsOf("system:start")
      assert.deepStrictEqual(acts.map(({ operation, target }) => [operation, target]), [["users.create", "1"]])
      assert.notInclude(JSON.stringify(acts), password)
      assert.isTrue(DateTime.Equivalence(acts[0]!.at, beginning))
    }).pipe(Effect.provide(TestLive)))
})
