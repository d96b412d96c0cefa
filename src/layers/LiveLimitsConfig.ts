import { Config, Duration, Effect, Layer } from "effect"
import { LedgerTimes } from "../services/BatchLedger.ts"
import { LiveLimits } from "../services/LiveLimits.ts"

const count = (name: string, fallback: number) =>
  Config.integer(name).pipe(
    Config.withDefault(fallback),
    Config.validate({ message: `${name} must be at least 1`, validation: (value) => value >= 1 })
  )
const time = (name: string, fallback: Duration.Duration, minimum: Duration.DurationInput) =>
  Config.duration(name).pipe(
    Config.withDefault(fallback),
    Config.validate({
      message: `${name} must be between ${Duration.format(minimum)} and 7 days`,
      validation: (value: Duration.Duration) => Duration.between(value, { minimum, maximum: "7 days" })
    })
  )

/** What of live streams the environment sets. */
export const LiveLimitsConfig = Layer.merge(
  Layer.effect(
    LiveLimits,
    Effect.gen(function*() {
      const limits = yield* LiveLimits
      return {
        ...limits,
        perUser: yield* count("NETOPS_STREAMS_PER_USER", limits.perUser),
        queue: yield* count("NETOPS_STREAM_QUEUE", limits.queue),
        heartbeat: yield* time("NETOPS_STREAM_HEARTBEAT", limits.heartbeat, "1 second")
      }
    })
  ),
  Layer.effect(
    LedgerTimes,
    Effect.gen(function*() {
      const times = yield* LedgerTimes
      return { ...times, keep: yield* time("NETOPS_STREAM_KEEP", times.keep, "1 minute") }
    })
  )
)
