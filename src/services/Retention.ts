import { Context, Data, type Effect } from "effect"
import type { RetentionChange, RetentionConfig, RetentionImpact } from "../schema/Retention.ts"

/** The store doesn't have the table, whose retention could be set otherwise. */
export class TableMissing extends Data.TaggedError("Retention/TableMissing")<{ readonly table: string }> {}

/** How long the store keeps what was observed. A store that fails is a defect. */
export class Retention extends Context.Tag("services/Retention")<
  Retention,
  {
    readonly config: Effect.Effect<RetentionConfig>
    /** What the change takes away; without `dry_run` it is in force, and read back, when this answers. */
    readonly change: (change: RetentionChange) => Effect.Effect<ReadonlyArray<RetentionImpact>, TableMissing>
  }
>() {}

/** Share of the disk in percent from which on it is about to be full. */
export const diskWarningPercent = 80
