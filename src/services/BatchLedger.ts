import { Context, Duration, type Effect } from "effect"
import type { EventStoreFailed } from "./DhcpEvents.ts"

/** What is known of a batch before it is stored. */
export interface BatchOutline {
  /** How many events it holds. */
  readonly events: number
  /** Time of its earliest event, RFC 3339 in UTC with milliseconds. */
  readonly from: string
  /** Time of its latest event. */
  readonly to: string
}

/** A batch with the number under which its events are stored. */
export interface NumberedBatch extends BatchOutline {
  readonly number: number
}

/** A stored batch: its place is its number, or a later one where it was stored after its lease had run out. */
export interface PlacedBatch extends NumberedBatch {
  readonly place: number
}

/** Stored batches in the order of their places. */
export interface LedgerPage {
  /** Places up to this one are forgotten. */
  readonly horizon: number
  /** Up to this place nothing will change any more. */
  readonly settled: number
  /** Whether a batch that is waited for has outlived its lease. */
  readonly overdue: boolean
  readonly batches: ReadonlyArray<PlacedBatch>
}

/** For how long a batch is waited for, and after which time nothing can be storing it any more. */
export class LedgerTimes extends Context.Reference<LedgerTimes>()("services/LedgerTimes", {
  defaultValue: () => ({
    lease: Duration.seconds(10),
    renewEvery: Duration.seconds(3),
    lateAfter: Duration.seconds(60),
    keep: Duration.hours(24)
  })
}) {}

/**
 * The order in which batches of events were taken in, over all nodes. The store of events has no order of commits, so
 * a batch takes its number here before it is stored and says here when it is; readers go no further than the first
 * batch that is still open. A batch whose node is gone is passed over when its lease ends, and gets a later place if it
 * turns out to be stored.
 */
export class BatchLedger extends Context.Tag("services/BatchLedger")<
  BatchLedger,
  {
    /** Numbers a batch that is about to be stored and holds it open for the length of a lease. */
    readonly open: (batch: BatchOutline) => Effect.Effect<number, EventStoreFailed>
    /** Holds an open batch open for the length of another lease. */
    readonly renew: (number: number) => Effect.Effect<void>
    /** The batch is stored. */
    readonly close: (number: number) => Effect.Effect<void, EventStoreFailed>
    /** Nobody is waiting for the batch any more; whether it was stored is found out later. */
    readonly leave: (number: number) => Effect.Effect<void>
    /** At most `limit` batches after a place. */
    readonly read: (after: number, limit: number) => Effect.Effect<LedgerPage>
    /** Leaves the batches whose leases have run out. */
    readonly reap: Effect.Effect<void>
    /** Batches that were left and that nothing can be storing any more. */
    readonly late: Effect.Effect<ReadonlyArray<NumberedBatch>>
    /** What was found out about a batch that was left; what its owner says in the end counts all the same. */
    readonly settle: (number: number, stored: boolean) => Effect.Effect<void>
    /** Forgets what is older than is kept. */
    readonly prune: Effect.Effect<void>
  }
>() {}
