import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Random, Redacted } from "effect"
import { inject } from "vitest"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DueWindowsPg } from "../../src/layers/postgres/DueWindowsPg.ts"
import { migratePostgres, withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { Actions } from "../../src/services/Actions.ts"
import { DueWindows } from "../../src/services/DueWindows.ts"
import { RuleLedger } from "../../src/services/RuleLedger.ts"
import { mac, newRule, observeClients } from "../support/automationRows.ts"
import { type Child, startChild } from "../support/childProcess.ts"
import { ClickHouseTest, freshDatabase } from "../support/engines.ts"

const rounds = Number(process.env["NETOPS_CHAOS_ROUNDS"] ?? 10)
const nodeCount = 3

const stores = (url: string) =>
  Layer.mergeAll(UsersPg, AutomationRulesPg, RuleLedgerPg, DueWindowsPg, ActionsPg).pipe(
    Layer.provideMerge(Layer.provideMerge(
      Layer.effectDiscard(withMigrationLock(migratePostgres)),
      postgresClient(Redacted.make(url), 5)
    )),
    Layer.orDie
  )

/** One random node after the other is killed at a random moment and started anew, while clients keep appearing. */
const rampage = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const nodes: Array<Child> = []
  for (let index = 0; index < nodeCount; index++) nodes.push(yield* startChild("schedulerNode.ts", env))
  for (let round = 0; round < rounds; round++) {
    yield* observeClients([round], round)
    yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(2000, 9000)))
    const victim = yield* Random.nextIntBetween(0, nodeCount)
    yield* nodes[victim]!.kill("SIGKILL")
    nodes[victim] = yield* startChild("schedulerNode.ts", env)
  }
  yield* Effect.sleep("30 seconds")
})

describe("scheduler under kill -9", () => {
  it.scopedLive(
    "every due window comes to one verdict, and each client is acted on once",
    () =>
      Effect.gen(function*() {
        const url = yield* freshDatabase
        const clickhouse = yield* ClickHouse
        yield* Effect.gen(function*() {
          const rule = yield* newRule({ schedule: { type: "interval", every: "5s" }, cooldown_minutes: 1440 })
          yield* rampage({
            DATABASE_URL: url,
            CLICKHOUSE_URL: inject("clickhouseUrl"),
            NETOPS_CLICKHOUSE_DATABASE: clickhouse.database,
            NETOPS_CLUSTER: "1"
          })
          const { items } = yield* (yield* DueWindows).list(rule.id, { limit: 1000 })
          const dues = items.map(({ due_at }) => DateTime.toEpochMillis(due_at)).reverse()
          const first = (Math.floor(DateTime.toEpochMillis(rule.created_at) / 5000) + 1) * 5000
          assert.deepStrictEqual(dues, dues.map((_, index) => first + index * 5000))
          const counts = new Map<string, number>()
          for (const { verdict } of items) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
          yield* Effect.logInfo(
            `${rounds} kills of ${nodeCount} nodes, ${items.length} windows`,
            Object.fromEntries(counts)
          )
          assert.isAtMost(counts.get("running") ?? 0, 1)
          const { items: blocks } = yield* (yield* Actions).list({ limit: 1000 })
          const clients = blocks.map(({ client }) => client).sort()
          assert.deepStrictEqual(clients, Array.from({ length: rounds }, (_, client) => mac(client)).sort())
          const runs = yield* (yield* RuleLedger).runs(rule.id, { limit: 1000 })
          assert.strictEqual(runs.items.reduce((sum, run) => sum + run.actions_triggered, 0), rounds)
        }).pipe(Effect.provide(stores(url)))
      }).pipe(Effect.provide(ClickHouseTest)),
    3_600_000
  )
})
