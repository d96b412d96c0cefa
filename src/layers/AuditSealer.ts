import { Clock, DateTime, Duration, Effect, Layer } from "effect"
import { AuditTrail, sealBatchMax } from "../services/AuditTrail.ts"
import { IdempotencyKeys } from "../services/IdempotencyKeys.ts"

/** How often audit entries are chained, and expired idempotency keys forgotten. */
const every = { seal: Duration.seconds(1), forget: Duration.minutes(10) }

const patiently = <E>(what: string, job: Effect.Effect<void, E>) =>
  Effect.catchAllCause(job, (cause) => Effect.logWarning(`${what} failed and is tried again`, cause))

/** Chains audit entries soon after they are recorded; every node tries, one of them does. */
export const AuditSealerLive = Layer.scopedDiscard(
  Effect.gen(function*() {
    const trail = yield* AuditTrail
    const keys = yield* IdempotencyKeys
    const sealAll: Effect.Effect<void> = Effect.flatMap(
      trail.seal,
      (sealed) => sealed === sealBatchMax ? sealAll : Effect.void
    )
    const forget = Effect.flatMap(Clock.currentTimeMillis, (now) => keys.forget(DateTime.unsafeMake(now)))
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(every.seal), patiently("sealing", sealAll))))
    yield* Effect.forkScoped(
      Effect.forever(Effect.zipRight(patiently("forgetting idempotency keys", forget), Effect.sleep(every.forget)))
    )
  })
)
