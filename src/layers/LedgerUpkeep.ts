import { Duration, Effect, Layer } from "effect"
import { tendLedger } from "../services/BatchStore.ts"

const every = Duration.seconds(10)

/** Tends the ledger of batches from time to time, on every node. */
export const LedgerUpkeep = Layer.scopedDiscard(
  tendLedger.pipe(
    Effect.catchAllCause((cause) => Effect.logWarning("the ledger of batches was not tended and will be", cause)),
    Effect.delay(every),
    Effect.forever,
    Effect.interruptible,
    Effect.forkScoped
  )
)
