import { Effect, Layer } from "effect"
import { BatchNumbers } from "../../src/services/DhcpEvents.ts"

export const BatchNumbersMemory = Layer.sync(BatchNumbers, () => {
  let last = 0
  return BatchNumbers.of({ next: Effect.sync(() => ++last) })
})
