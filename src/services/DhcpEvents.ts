import { Context, Data, type Effect, Schedule } from "effect"
import type { DhcpEvent } from "../schema/DhcpEvent.ts"
import type { DhcpEventFilter } from "../schema/FilterFields.ts"
import type { Page } from "../schema/Page.ts"

/** The store did not take or give events: it is out of reach or failed; trying again may help. */
export class EventStoreFailed extends Data.TaggedError("DhcpEvents/EventStoreFailed")<{ readonly cause: unknown }> {}

/** How often a store that fails is tried again. */
export const storeRetries = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(2))

export interface EventBatch<Event = DhcpEvent> {
  /** Number of the batch, unique and rising. */
  readonly number: number
  readonly events: ReadonlyArray<Event>
  /** A batch that was stored under this token before is not stored again. */
  readonly deduplicationToken?: string | undefined
}

export interface EventQuery {
  readonly filter?: DhcpEventFilter | undefined
  /** Events after `start` up to and including `end`. */
  readonly start: Date
  readonly end: Date
  readonly limit: number
  readonly after?: EventPosition | undefined
  readonly count: boolean
}

/** Place of an event in the listing order: time, then batch and row, all descending. */
export interface EventPosition {
  readonly event_time: string
  readonly batch: number
  readonly row: number
}

export type StoredEvent = DhcpEvent & { readonly id: string }

/** Events of batches in the order of their numbers and rows. */
export interface BatchQuery {
  /** Batches by rising number, with the times between which their events lie. */
  readonly batches: ReadonlyArray<{ readonly number: number; readonly from: string; readonly to: string }>
  readonly after?: { readonly batch: number; readonly row: number } | undefined
  readonly filter?: DhcpEventFilter | undefined
  readonly limit: number
}

/** An event with its batch and its place in that. */
export interface BatchedEvent {
  readonly batch: number
  readonly row: number
  readonly event: DhcpEvent
}

/** How many of the events of a time a filter matches. */
export interface MatchCount {
  readonly matched: number
  readonly total: number
}

/** The observed DHCP events. */
export class DhcpEvents extends Context.Tag("services/DhcpEvents")<
  DhcpEvents,
  {
    readonly append: (batch: EventBatch) => Effect.Effect<void, EventStoreFailed>
    readonly list: (query: EventQuery) => Effect.Effect<Page<StoredEvent>>
    readonly batched: (query: BatchQuery) => Effect.Effect<ReadonlyArray<BatchedEvent>>
    /** Counts the events after `start` up to and including `end`. */
    readonly countMatches: (
      query: Pick<EventQuery, "start" | "end"> & { readonly filter: DhcpEventFilter }
    ) => Effect.Effect<
      MatchCount
    >
    /** Days for which events are kept. */
    readonly retentionDays: Effect.Effect<number, EventStoreFailed>
  }
>() {}

/** Numbers for the batches of all nodes. */
export class BatchNumbers extends Context.Tag("services/BatchNumbers")<
  BatchNumbers,
  { readonly next: Effect.Effect<number, EventStoreFailed> }
>() {}
