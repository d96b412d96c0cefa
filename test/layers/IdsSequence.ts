import { Effect, Layer, Redacted } from "effect"
import { Ids } from "../../src/services/Ids.ts"

/** Ids and secrets that count from 1: `00000000-0000-4000-8000-000000000001`, `AAAA…0001`. */
export const IdsSequence = Layer.sync(Ids, () => {
  let uuids = 0
  let secrets = 0
  return Ids.of({
    uuid: Effect.sync(() => `00000000-0000-4000-8000-${String(++uuids).padStart(12, "0")}`),
    secret: Effect.sync(() => Redacted.make(String(++secrets).padStart(43, "A")))
  })
})
