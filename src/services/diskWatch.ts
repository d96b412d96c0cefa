import { DateTime, Effect } from "effect"
import { isFiring } from "./eventStates.ts"
import { Retention } from "./Retention.ts"
import { ServiceEvents } from "./ServiceEvents.ts"

/** What the events of the disk are about: the one that holds what was observed. */
export const diskSubject = "disk/clickhouse"

/** Tells when the disk begins to be too full, and when it no longer is. */
export const watchDisk = Effect.gen(function*() {
  const { disk_space } = yield* Effect.flatMap(Retention, ({ config }) => config)
  const { free_bytes, total_bytes, used_bytes, used_percent, warning_level } = disk_space
  if (warning_level === (yield* isFiring("retention.disk.warning", diskSubject))) return
  yield* Effect.flatMap(Effect.all([ServiceEvents, DateTime.now]), ([{ publish }, time]) =>
    publish([{
      type: warning_level ? "retention.disk.warning" : "retention.disk.recovered",
      subject: diskSubject,
      severity: "critical",
      time,
      data: { used_percent, total_bytes, used_bytes, free_bytes }
    }]))
})
