import { describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { outboxProof } from "../support/outboxProof.ts"
import { type Manner, startReceiver } from "../support/receiver.ts"

const rounds = Number(process.env["NETOPS_CHAOS_ROUNDS"] ?? 10)
const manners: ReadonlyArray<Manner> = ["takes", "fails", "hangs", "cuts", "lost", "down"]

const step = Effect.gen(function*() {
  const manner = manners[yield* Random.nextIntBetween(0, manners.length)]!
  const chance = yield* Random.next
  return { manner, kill: chance < 0.25, reload: chance > 0.75, ms: yield* Random.nextIntBetween(200, 2500) }
})

describe("the outbox under chaos", () => {
  it.scopedLive(
    "loses nothing and repeats under one id, through random failures, kills and reloads",
    () =>
      Effect.gen(function*() {
        for (let round = 0; round < rounds; round++) {
          const receivers = [yield* startReceiver, yield* startReceiver]
          const steps = yield* Effect.replicateEffect(step, 12)
          // A pause between failures: what failed ten times is dead, as it should be.
          const calm = steps.flatMap((each) => [each, { manner: "takes" as const, ms: 300 }])
          const figures = yield* Effect.scoped(outboxProof(receivers, calm))
          yield* Effect.logInfo(`round ${round + 1}`, { ...figures, kills: steps.filter(({ kill }) => kill).length })
        }
      }),
    3_600_000
  )
})
