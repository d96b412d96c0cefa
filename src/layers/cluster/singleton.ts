import { type Sharding, Singleton } from "@effect/cluster"
import { Effect, type Layer, Schedule, type Scope } from "effect"

/** Soon after the first failure, then ever more seldom, at most 10 seconds apart; a good minute forgets it all. */
const backoff = Schedule.exponential("250 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.resetAfter("1 minute")
)

/**
 * Work that exactly one of all nodes does at a time, for as long as they run. However it fails, that is logged and it
 * starts anew after a pause. A node that loses its place interrupts it, possibly after another one has begun: what must
 * not happen twice has to be decided in the database.
 */
export const singleton = <E, R>(
  name: string,
  work: Effect.Effect<void, E, R>
): Layer.Layer<never, never, Sharding.Sharding | Exclude<R, Scope.Scope>> =>
  Singleton.make(
    name,
    Effect.scoped(work).pipe(
      Effect.sandbox,
      Effect.tapError((cause) => Effect.logError(`${name} failed and starts anew`, cause)),
      Effect.retry(backoff),
      Effect.annotateLogs("singleton", name)
    )
  )
