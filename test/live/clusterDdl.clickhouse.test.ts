import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { onCluster } from "../../src/layers/clickhouse/clusterDdl.ts"
import { bookkeeping } from "../../src/layers/clickhouse/migrate.ts"
import { migrations } from "../../src/layers/clickhouse/migrations/index.ts"
import { retainedTables } from "../../src/schema/Retention.ts"
import { ClickHouseTest } from "../support/engines.ts"

const statements = ["CREATE DATABASE IF NOT EXISTS events", bookkeeping, ...Object.values(migrations).flat()]
const forCluster = statements.map(onCluster("main"))

layer(ClickHouseTest)("definitions for a cluster", (it) => {
  it.effect("are ClickHouse's own grammar", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      for (const query of forCluster) {
        const { rows } = yield* clickhouse.query({
          query: `EXPLAIN AST ${query.replace(/SETTINGS insert_deduplicate.*/, "")}`
        })
        assert.isAbove(rows.length, 0, query)
      }
    }))

  it.effect("reach all servers, and make replicas of all that holds rows", () =>
    Effect.sync(() => {
      assert.strictEqual(
        forCluster.filter((query) => /ENGINE = Replicated(?:Aggregating)?MergeTree\b/.test(query)).length,
        retainedTables.length + 3
      )
      forCluster.forEach((query, index) => {
        assert.notMatch(query, /ENGINE = (?:Aggregating)?MergeTree|non_replicated/)
        const defines = !/^\s*INSERT/.test(query)
        assert.strictEqual(query.split(" ON CLUSTER main").length - 1, defines ? 1 : 0, query)
        assert.strictEqual(onCluster(undefined)(statements[index]!), statements[index])
      })
    }))
})
