import { Config, Duration, Effect, Layer, Schedule } from "effect"
import { watchDisk } from "../../services/DiskWatch.ts"
import { singleton } from "./singleton.ts"

const interval = Config.duration("NETOPS_DISK_CHECK_INTERVAL").pipe(Config.withDefault(Duration.minutes(1)))

/** Looks at the disk of the event store every `NETOPS_DISK_CHECK_INTERVAL` (1 minute), on one of all nodes. */
export const DiskWatchSingleton = Layer.unwrapEffect(
  Effect.map(interval, (every) =>
    singleton(
      "disk-watch",
      watchDisk.pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("disk: its space is not known", cause)),
        Effect.repeat({ schedule: Schedule.spaced(every), while: () => true }),
        Effect.asVoid
      )
    ))
)
