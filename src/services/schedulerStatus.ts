import { DateTime, Effect } from "effect"
import type { SchedulerStatus } from "../schema/DueWindow.ts"
import { nextDue } from "./DueTimes.ts"
import { DueWindows } from "./DueWindows.ts"

/** After this many milliseconds without a sign of life no node runs the schedules. */
const silence = 5000

/** How the schedules are worked off, as far as the database knows. */
export const schedulerStatus = Effect.gen(function*() {
  const windows = yield* DueWindows
  const [beat, spans, running, now] = yield* Effect.all([
    windows.latestBeat,
    windows.spans,
    windows.running,
    DateTime.now
  ])
  const nowMillis = DateTime.toEpochMillis(now)
  const alive = beat !== undefined && nowMillis - DateTime.toEpochMillis(beat.at) < silence
  const next = spans.flatMap(({ rule, schedule, until }) => {
    const due = until === null ? nextDue(schedule, nowMillis) : undefined
    return due === undefined ? [] : [{ rule_id: rule, due_at: DateTime.unsafeMake(due) }]
  })
  const status: SchedulerStatus = {
    leader: alive ? beat.node : null,
    last_tick_at: beat?.at ?? null,
    lag_ms: beat?.lagMillis ?? 0,
    running,
    next: next.sort((a, b) => DateTime.distance(b.due_at, a.due_at))
  }
  return status
})
