import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { outboxProof } from "../support/outboxProof.ts"
import { startReceiver } from "../support/receiver.ts"

describe("the outbox", () => {
  it.scopedLive(
    "loses nothing and repeats under one id, whatever the receiver does and while the server is killed twice",
    () =>
      Effect.gen(function*() {
        const receiver = yield* startReceiver
        const other = yield* startReceiver
        const figures = yield* outboxProof([receiver, other], [
          { ms: 1000 },
          { manner: "fails", ms: 700 },
          { manner: "lost", ms: 1200 },
          { manner: "takes", kill: true, ms: 1500 },
          { manner: "cuts", ms: 800 },
          { manner: "takes", reload: true, ms: 1500 },
          { manner: "hangs", ms: 1500 },
          { manner: "down", ms: 700, kill: true },
          { manner: "takes", ms: 1500 }
        ])
        assert.isAtLeast(figures.events, 90)
        assert.isAbove(receiver.received.length, 0)
        assert.isAbove(other.received.length, 0)
        yield* Effect.logInfo("arrived", figures)
      }),
    170_000
  )
})
