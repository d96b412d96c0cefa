import { Context, Effect, Exit, Layer } from "effect"
import type { DhcpEvent } from "../schema/DhcpEvent.ts"
import { BatchLedger, type BatchOutline, LedgerTimes } from "./BatchLedger.ts"
import { DhcpEvents, type EventStoreFailed, storeRetries } from "./DhcpEvents.ts"
import { LiveWake } from "./LiveWake.ts"

/** Stores batches of DHCP events in the order that streams follow. */
export class BatchStore extends Context.Tag("services/BatchStore")<
  BatchStore,
  {
    /** Stores events, once however often they come under one token. */
    readonly store: (events: ReadonlyArray<DhcpEvent>, token: string) => Effect.Effect<void, EventStoreFailed>
  }
>() {}

const outlineOf = (events: ReadonlyArray<DhcpEvent>): BatchOutline => {
  let from = events[0]!.event_time
  let to = from
  for (const { event_time } of events) {
    if (event_time < from) from = event_time
    if (event_time > to) to = event_time
  }
  return { events: events.length, from, to }
}

export const BatchStoreLive = Layer.effect(
  BatchStore,
  Effect.gen(function*() {
    const { append } = yield* DhcpEvents
    const ledger = yield* BatchLedger
    const { renewEvery } = yield* LedgerTimes
    const { wake } = yield* LiveWake

    const patiently = (job: Effect.Effect<void>) =>
      Effect.catchAllCause(job, (cause) => Effect.logWarning("the ledger of batches was not told", cause))

    const whileRenewing = <A, E>(number: number, work: Effect.Effect<A, E>) =>
      Effect.raceFirst(
        work,
        Effect.forever(Effect.delay(patiently(ledger.renew(number)), renewEvery))
      )

    return BatchStore.of({
      store: (events, deduplicationToken) =>
        Effect.acquireUseRelease(
          Effect.retry(ledger.open(outlineOf(events)), storeRetries),
          (number) => whileRenewing(number, Effect.retry(append({ number, events, deduplicationToken }), storeRetries)),
          // What is stored counts as accepted, also where saying so failed: it is found out once the lease is over.
          (number, exit) =>
            Exit.isSuccess(exit)
              ? Effect.zipRight(patiently(Effect.orDie(ledger.close(number))), wake)
              : patiently(ledger.leave(number))
        )
    })
  })
)

/** What is done for the ledger from time to time, by every node; nothing of it is done twice. */
export const tendLedger = Effect.gen(function*() {
  const ledger = yield* BatchLedger
  const events = yield* DhcpEvents
  yield* ledger.reap
  for (const batch of yield* ledger.late) {
    const [found] = yield* events.batched({ batches: [batch], limit: 1 })
    yield* ledger.settle(batch.number, found !== undefined)
  }
  yield* ledger.prune
})
