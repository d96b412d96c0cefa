import { Effect, Layer } from "effect"
import { Readiness } from "../../src/services/Readiness.ts"

const answers = { ok: true, detail: "memory", required: true }

/** Everything answers. */
export const ReadinessMemory = Layer.succeed(
  Readiness,
  Readiness.of({
    check: Effect.succeed({ postgres: answers, clickhouse: answers, nft: answers, migrations: answers })
  })
)
