import { Context, type DateTime, type Effect, type Option } from "effect"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { EventDraft, EventSeverity, EventType, ServiceEvent } from "../schema/ServiceEvent.ts"

export interface EventQuery extends PageRequest {
  readonly type?: EventType | undefined
  readonly min_severity?: EventSeverity | undefined
  /** Types that are left out. */
  readonly hidden?: ReadonlyArray<EventType> | undefined
  readonly subject?: string | undefined
  readonly start?: DateTime.Utc | undefined
  readonly end?: DateTime.Utc | undefined
}

/** A place between two events in the order in which they became visible; opaque. */
export type EventPosition = string & { readonly EventPosition: unique symbol }

export interface PlacedEvent {
  readonly position: EventPosition
  readonly event: ServiceEvent
}

/** What happened in the service, for a month. */
export class ServiceEvents extends Context.Tag("services/ServiceEvents")<
  ServiceEvents,
  {
    /** Joins the transaction around it: the events are there exactly if what they tell of is. */
    readonly publish: (drafts: ReadonlyArray<EventDraft>) => Effect.Effect<void>
    /** Newest first. */
    readonly list: (query: EventQuery) => Effect.Effect<Page<ServiceEvent>, InvalidCursor>
    /**
     * The next events after a position, oldest first; none comes to be visible before them later. Without a position
     * from the oldest kept.
     */
    readonly read: (after: EventPosition | undefined, limit: number) => Effect.Effect<ReadonlyArray<PlacedEvent>>
    /** The position after the newest event that `read` gives, undefined where there is none. */
    readonly end: Effect.Effect<EventPosition | undefined>
    /** The position of an event that is still kept. */
    readonly positionOf: (id: string) => Effect.Effect<Option.Option<EventPosition>>
    /** Forgets events from before this time. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
