import { DateTime, Effect } from "effect"
import { prettyBytes } from "../schema/Retention.ts"
import { Alarms } from "./Alarms.ts"
import { diskWarningPercent, Retention } from "./Retention.ts"
import { ServiceEvents } from "./ServiceEvents.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

/** An alarm of the disk ends only this far below the level at which it began, so that it doesn't flap. */
export const diskReliefPercent = 2

/** What the events of the disk are about. */
const diskSubject = "disk/clickhouse"

const stateOf = (used_percent: number) =>
  used_percent >= diskWarningPercent
    ? "amiss" as const
    : used_percent > diskWarningPercent - diskReliefPercent
    ? "between" as const
    : "fine" as const

/** Looks at the disk of the event store once, opens, refreshes or resolves its alarm, and tells where that changed. */
export const watchDisk = Effect.gen(function*() {
  const { transaction } = yield* UnitOfWork
  const { disk_space: { free_bytes, total_bytes, used_bytes, used_percent } } = yield* (yield* Retention).config
  const alarms = yield* Alarms
  const events = yield* ServiceEvents
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
    yield* events.publish([{
      type: warning ? "retention.disk.warning" : "retention.disk.recovered",
      subject: diskSubject,
      severity: "critical",
      time: at,
      data: { used_percent, total_bytes, used_bytes, free_bytes }
    }])
    return { warning }
  }))
  if (changed !== undefined) {
    yield* changed.warning
      ? Effect.logWarning(`disk: ${comment}; shorten the retention or add room`)
      : Effect.logInfo(`disk: there is room again, ${comment}`)
  }
}).pipe(Effect.withSpan("watchDisk"))
