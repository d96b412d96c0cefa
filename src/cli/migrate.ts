import { Command } from "@effect/cli"
import { Console, Effect } from "effect"
import { migrate, StoresLive } from "../layers/Engines.ts"

export const migrateCommand = Command.make("migrate", {}, () =>
  migrate.pipe(
    Effect.flatMap(({ clickhouse, postgres }) =>
      Console.log(
        postgres.length + clickhouse.length === 0
          ? "Both stores are up to date"
          : `Migrated ${[...postgres, ...clickhouse].join(", ")}`
      )
    ),
    Effect.provide(StoresLive)
  )).pipe(Command.withDescription("Bring Postgres and ClickHouse up to date"))
