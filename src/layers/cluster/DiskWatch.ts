import { Effect, Schedule } from "effect"
import { watchDisk } from "../../services/diskWatch.ts"
import { singleton } from "./singleton.ts"

/** Looks at the disk each minute, on one of all nodes. */
export const DiskWatch = singleton(
  "disk-watch",
  Effect.asVoid(Effect.repeat(watchDisk, { schedule: Schedule.spaced("1 minute"), while: () => true }))
)
