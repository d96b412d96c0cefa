import { Effect, Layer, Redacted } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { Ids } from "../services/Ids.ts"

export const IdsCrypto = Layer.succeed(
  Ids,
  Ids.of({
    uuid: Effect.sync(() => randomUUID()),
    secret: Effect.sync(() => Redacted.make(randomBytes(32).toString("base64url")))
  })
)
