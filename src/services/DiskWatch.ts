import { Context, DateTime, Effect } from "effect"
import { prettyBytes } from "../schema/Retention.ts"
import { Alarms } from "./Alarms.ts"
import { diskWarningPercent, Retention } from "./Retention.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

/** An alarm of the disk ends only this far below the level at which it began, so that it doesn't flap. */
export const diskReliefPercent = 2

/** That the disk of the event store came to be about full, or has room again. */
export interface DiskChange {
  readonly warning: boolean
  readonly used_percent: number
  readonly used_bytes: number
  readonly total_bytes: number
}

/**
 * Is told when the alarm of the disk opens and when it is resolved, in the transaction that does so; by default nobody
 * is.
 */
export class DiskWarnings extends Context.Reference<DiskWarnings>()("services/DiskWarnings", {
  defaultValue: (): { readonly publish: (change: DiskChange) => Effect.Effect<void> } => ({
    publish: () => Effect.void
  })
}) {}

const stateOf = (used_percent: number) =>
  used_percent >= diskWarningPercent
    ? "amiss" as const
    : used_percent > diskWarningPercent - diskReliefPercent
    ? "between" as const
    : "fine" as const

/** Looks at the disk of the event store once, and opens, refreshes or resolves its alarm. */
export const watchDisk = Effect.gen(function*() {
  const { transaction } = yield* UnitOfWork
  const { disk_space: { total_bytes, used_bytes, used_percent } } = yield* (yield* Retention).config
  const alarms = yield* Alarms
  const warnings = yield* DiskWarnings
  const comment = `${used_percent} % of ${prettyBytes(total_bytes)} used`
  const at = yield* DateTime.now
  const changed = yield* transaction(Effect.gen(function*() {
    const change = yield* alarms.note({
      kind: "disk",
      subject: "clickhouse",
      name: "Disk space of the event store",
      severity: "warning",
      state: stateOf(used_percent),
      comment,
      at
    })
    if (change === undefined) return undefined
    const warning = change.to_status === "firing"
    yield* warnings.publish({ warning, used_percent, used_bytes, total_bytes })
    return { warning }
  }))
  if (changed !== undefined) {
    yield* changed.warning
      ? Effect.logWarning(`disk: ${comment}; shorten the retention or add room`)
      : Effect.logInfo(`disk: there is room again, ${comment}`)
  }
}).pipe(Effect.withSpan("watchDisk"))
