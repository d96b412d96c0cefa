import { Effect, Layer, Ref } from "effect"
import { prettyBytes, retainedTables } from "../../src/schema/Retention.ts"
import { diskSpace } from "../../src/services/diskSpace.ts"
import { Retention } from "../../src/services/Retention.ts"

const empty = { size_bytes: 0, size_pretty: prettyBytes(0), row_count: 0 }

/** Retention of tables that hold nothing, on a disk of a tebibyte that is half full. */
export const RetentionMemory = Layer.effect(
  Retention,
  Effect.gen(function*() {
    const days = yield* Ref.make(new Map(retainedTables.map((table) => [table.table_name, table.default_ttl_days])))
    return Retention.of({
      config: Effect.map(Ref.get(days), (current) => ({
        tables: retainedTables.map((table) => ({
          ...table,
          ...empty,
          current_ttl_days: current.get(table.table_name)!
        })),
        non_configurable_tables: [{ table_name: "schema_migrations", ...empty }],
        disk_space: diskSpace(2 ** 40, 2 ** 39)
      })),
      change: ({ dry_run, tables }) =>
        Ref.modify(days, (current) => [
          tables.map(({ table_name, ttl_days }) => ({
            table_name,
            previous_ttl_days: current.get(table_name)!,
            ttl_days,
            rows: 0,
            bytes: 0,
            pretty: prettyBytes(0)
          })),
          dry_run === true
            ? current
            : new Map([...current, ...tables.map(({ table_name, ttl_days }) => [table_name, ttl_days] as const)])
        ])
    })
  })
)
