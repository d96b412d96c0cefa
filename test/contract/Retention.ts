import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { retainedTables } from "../../src/schema/Retention.ts"
import { Retention } from "../../src/services/Retention.ts"

/** What every implementation of `Retention` keeps. */
export const retentionContract = (name: string, layer: Layer.Layer<Retention>) =>
  describe(`Retention contract: ${name}`, () => {
    it.effect("begins with the defaults", () =>
      Effect.gen(function*() {
        const { tables } = yield* (yield* Retention).config
        assert.deepStrictEqual(
          tables.map(({ category, current_ttl_days, default_ttl_days, table_name, ttl_column }) => ({
            table_name,
            category,
            default_ttl_days,
            ttl_column,
            current_ttl_days
          })),
          retainedTables.map((table) => ({ ...table, current_ttl_days: table.default_ttl_days }))
        )
      }).pipe(Effect.provide(layer)))

    it.effect("changes what it is told and nothing else, and nothing in a dry run", () =>
      Effect.gen(function*() {
        const retention = yield* Retention
        const days = Effect.map(retention.config, ({ tables }) =>
          Object.fromEntries(tables.map(({ current_ttl_days, table_name }) => [table_name, current_ttl_days])))
        const before = yield* days
        const tables = [{ table_name: "dhcp_events", ttl_days: 60 }, {
          table_name: "firewall_events",
          ttl_days: 3
        }] as const
        const planned = yield* retention.change({ tables, dry_run: true })
        assert.deepStrictEqual(yield* days, before)
        const impact = yield* retention.change({ tables })
        assert.deepStrictEqual(impact, planned)
        assert.deepStrictEqual(
          impact.map(({ previous_ttl_days, table_name, ttl_days }) => ({ table_name, previous_ttl_days, ttl_days })),
          [
            { table_name: "dhcp_events", previous_ttl_days: 30, ttl_days: 60 },
            { table_name: "firewall_events", previous_ttl_days: 14, ttl_days: 3 }
          ]
        )
        assert.deepStrictEqual(yield* days, { ...before, dhcp_events: 60, firewall_events: 3 })
      }).pipe(Effect.provide(layer)))
  })
