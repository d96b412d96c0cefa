import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { DetectionsClickHouse } from "../../src/layers/clickhouse/DetectionsClickHouse.ts"
import { relayTransitions } from "../../src/layers/cluster/AlarmRelay.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { AlarmsPg } from "../../src/layers/postgres/AlarmsPg.ts"
import { AuditTrailPg } from "../../src/layers/postgres/AuditTrailPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DueWindowsPg } from "../../src/layers/postgres/DueWindowsPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { UnitOfWorkPg } from "../../src/layers/postgres/UnitOfWorkPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { RunId } from "../../src/schema/RuleRun.ts"
import { Actions } from "../../src/services/Actions.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { backfill } from "../../src/services/Backfill.ts"
import { DueWindows } from "../../src/services/DueWindows.ts"
import { RuleLedger } from "../../src/services/RuleLedger.ts"
import { RuleRunner, RuleRunnerLive } from "../../src/services/RuleRunner.ts"
import { schedule } from "../../src/services/Scheduler.ts"
import { schedulerStatus } from "../../src/services/schedulerStatus.ts"
import { mac, newRule, observeClients } from "../support/automationRows.ts"
import { ClickHouseTest, PostgresTest } from "../support/engines.ts"

const Stores = Layer.mergeAll(
  UsersPg,
  AutomationRulesPg,
  RuleLedgerPg,
  DueWindowsPg,
  AlarmsPg,
  ActionsPg,
  AuditTrailPg,
  UnitOfWorkPg,
  DetectionsClickHouse,
  IdsCrypto
)

const live = RuleRunnerLive.pipe(
  Layer.provideMerge(Stores),
  Layer.provideMerge(Layer.merge(PostgresTest, ClickHouseTest))
)

const scheduler = schedule({
  node: "test",
  timeout: Duration.seconds(30),
  concurrency: 4,
  jitter: Duration.zero,
  grace: Duration.minutes(1),
  poll: Duration.millis(500)
})

const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>, until: (value: A) => boolean) =>
  Effect.retry(
    Effect.filterOrFail(effect, until),
    Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurs(150))
  )

const blocked = Effect.flatMap(
  Actions,
  (actions) => Effect.map(actions.list({ limit: 100 }), ({ items }) => items.map(({ client }) => client).sort())
)

const manual = { trigger: "manual" as const, userId: null, requestId: "r" }

describe("automation", () => {
  it.scopedLive("a rule fires by itself, acts once on each client beside 20 runs by hand, and follows its changes", () =>
    Effect.gen(function*() {
      const rules = yield* AutomationRules
      const runner = yield* RuleRunner
      const clickhouse = yield* ClickHouse
      yield* Effect.forkScoped(scheduler)
      const rule = yield* newRule({ schedule: { type: "interval", every: "5s" } })
      yield* observeClients([1, 2, 3], 1)
      assert.deepStrictEqual(yield* eventually(blocked, (all) => all.length > 0), [mac(1), mac(2), mac(3)])

      yield* observeClients([4, 5, 6, 7], 2)
      const due = 5000 - Date.now() % 5000
      yield* Effect.sleep(Duration.millis(due - 20))
      const results = yield* Effect.all(
        Array.from({ length: 20 }, () => runner.run(rule, { dry_run: false }, manual)),
        { concurrency: "unbounded" }
      )
      const all = yield* eventually(blocked, (all) => all.length > 6)
      assert.deepStrictEqual(all, [1, 2, 3, 4, 5, 6, 7].map(mac))
      yield* Effect.sleep("200 millis")
      const runs = yield* (yield* RuleLedger).runs(rule.id, { limit: 100 })
      assert.strictEqual(runs.items.reduce((sum, run) => sum + run.actions_triggered, 0), 7)
      assert.isAtMost(results.reduce((sum, { ActionsTriggered }) => sum + ActionsTriggered, 0), 4)

      const acted = runs.items.filter((run) => run.trigger === "schedule" && run.actions_triggered > 0)
      const recorded = yield* (yield* AuditTrail).list({ limit: 100, username: "system:scheduler" })
      assert.sameMembers(recorded.items.map(({ after }) => (after as { run: string }).run), acted.map(({ id }) => id))
      for (const { operation, target } of recorded.items) {
        assert.deepStrictEqual([operation, target], ["automation.scheduledRun", rule.id])
      }

      yield* rules.update(rule.id, {
        draft: { ...rule, enabled: false },
        by: rule.created_by,
        at: yield* DateTime.now
      })
      const windows = yield* DueWindows
      const before = yield* windows.list(rule.id, { limit: 100 })
      yield* Effect.sleep("5500 millis")
      assert.strictEqual((yield* windows.list(rule.id, { limit: 100 })).total, before.total)
      assert.deepStrictEqual((yield* schedulerStatus).next, [])

      assert.strictEqual(yield* relayTransitions, 7)
      assert.strictEqual(yield* relayTransitions, 0)
      const told = yield* clickhouse.query({
        query: "SELECT client, from_status, to_status FROM alarm_transitions ORDER BY client"
      })
      const expected = [1, 2, 3, 4, 5, 6, 7].map((client) => ({
        client: mac(client),
        from_status: "",
        to_status: "firing"
      }))
      assert.deepStrictEqual(told.rows, expected)
    }).pipe(Effect.provide(live)))

  it.scopedLive("missed windows are worked off once, and act on nobody whom the rule acted on around that time", () =>
    Effect.gen(function*() {
      const windows = yield* DueWindows
      const rule = yield* newRule({ schedule: { type: "interval", every: "5s" }, cooldown_minutes: 30 })
      yield* observeClients([1], 1)
      yield* (yield* RuleRunner).run(rule, { dry_run: false }, manual)
      yield* observeClients([2], 2)
      const span = (yield* windows.spans).find((span) => span.rule === rule.id)!
      const now = yield* DateTime.now
      const dues = [1, 2, 3, 4].map((seconds) => DateTime.add(now, { seconds }))
      yield* windows.pass(span, {
        verdict: "missed",
        reason: "",
        windows: dues.map((due_at) => ({ due_at, through: null })),
        settled: dues[3]!
      })
      const range = { start: DateTime.formatIso(now), end: DateTime.formatIso(dues[2]!) }
      const origin = { userId: null, requestId: "r" }
      const looked = yield* backfill(rule, { ...range, mode: "simulate", limit: 1 }, origin)
      assert.deepInclude(looked, { run: 1, actions_triggered: 0, remaining: 2 })
      const both = yield* Effect.all(
        [1, 2].map(() => backfill(rule, { ...range, mode: "enforce", limit: 10 }, origin)),
        {
          concurrency: "unbounded"
        }
      )
      const sum = (of: (result: (typeof both)[number]) => number) => both.reduce((sum, result) => sum + of(result), 0)
      assert.strictEqual(sum(({ run, skipped }) => run + skipped), 2)
      assert.strictEqual(sum(({ actions_triggered }) => actions_triggered), 1)
      assert.deepStrictEqual(yield* blocked, [mac(1), mac(2)])
      const left = yield* windows.list(rule.id, { limit: 10, verdict: "missed" })
      assert.strictEqual(left.total, 1)
      const claim = { run: RunId.make(globalThis.crypto.randomUUID()), owner: "x", leaseUntil: now }
      assert.isFalse(yield* windows.reclaim(rule.id, dues[0]!, claim))
    }).pipe(Effect.provide(live)))
})
