import { Context, Effect, Layer } from "effect"

/** Tells the reader of live events on this node that there may be something new, so that it need not wait to look. */
export class LiveWake extends Context.Tag("services/LiveWake")<
  LiveWake,
  {
    readonly wake: Effect.Effect<void>
    /** Ends at the next `wake`, or at once where there was one since the last time. */
    readonly awaited: Effect.Effect<void>
  }
>() {}

export const LiveWakeLive = Layer.sync(LiveWake, () => {
  const latch = Effect.unsafeMakeLatch(false)
  return LiveWake.of({
    wake: Effect.asVoid(latch.open),
    awaited: Effect.zipRight(latch.await, Effect.asVoid(latch.close))
  })
})
