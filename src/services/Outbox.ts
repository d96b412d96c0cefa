import { Context, Data, type DateTime, type Effect, type Option } from "effect"
import type { Delivery, DeliveryId, DeliveryStatus } from "../schema/Delivery.ts"
import type { NotificationRuleId } from "../schema/NotificationRule.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { EventType } from "../schema/ServiceEvent.ts"
import type { Group } from "./notify/groups.ts"
import type { EventPosition } from "./ServiceEvents.ts"

export class DeliveryMissing extends Data.TaggedError("Outbox/DeliveryMissing")<{ readonly id: string }> {}

/** It has arrived already. */
export class DeliveryDone extends Data.TaggedError("Outbox/DeliveryDone")<{ readonly id: string }> {}

export interface StoredGroup {
  readonly rule: NotificationRuleId
  /** Made from the labels; unique within the rule. */
  readonly key: string
  readonly group: Group
}

/** Groups that are due, those with these keys, and those in which one of these alerts lasts. */
export interface GroupsAsked {
  readonly dueAt: DateTime.Utc
  readonly keys: ReadonlyArray<readonly [rule: NotificationRuleId, key: string]>
  readonly alerts: ReadonlyArray<readonly [rule: NotificationRuleId, alert: string]>
}

/** What one step of the dispatcher leaves behind. */
export interface DispatchStep {
  /** Up to where events are taken in. */
  readonly position: EventPosition | undefined
  readonly groups: ReadonlyArray<StoredGroup>
  readonly over: ReadonlyArray<Pick<StoredGroup, "rule" | "key">>
  /** To be sent, in this order within each group. */
  readonly deliveries: ReadonlyArray<Delivery>
}

export interface Claim {
  readonly at: DateTime.Utc
  /** At most so many. */
  readonly limit: number
  /** Less than `limit` are taken only where one of them was made before this time, or has been tried. */
  readonly readyBefore: DateTime.Utc
  /** Until then nobody else takes them, nor what comes after them in their groups. */
  readonly until: DateTime.Utc
}

export interface OutboxCounts {
  readonly queued: number
  readonly delivered: number
  readonly dead: number
  readonly dropped: number
}

export interface DeliveryQuery extends PageRequest {
  readonly status?: DeliveryStatus | undefined
  readonly rule_id?: string | undefined
  /** Types of events that are left out. */
  readonly hidden?: ReadonlyArray<EventType> | undefined
}

/**
 * The state of the dispatcher, and what is to be sent. Deliveries of a group are taken in the order in which they were
 * made: while one of them waits for its next try, so do those behind it.
 */
export class Outbox extends Context.Tag("services/Outbox")<
  Outbox,
  {
    /** Where the dispatcher stands, for the transaction around it alone; none while another one is at work. */
    readonly begin: Effect.Effect<Option.Option<{ readonly position: EventPosition | undefined }>>
    readonly groups: (asked: GroupsAsked) => Effect.Effect<ReadonlyArray<StoredGroup>>
    readonly save: (step: DispatchStep) => Effect.Effect<void>
    readonly claim: (claim: Claim) => Effect.Effect<ReadonlyArray<Delivery>>
    /** Counts only what was pending until now. */
    readonly delivered: (ids: ReadonlyArray<DeliveryId>, at: DateTime.Utc) => Effect.Effect<void>
    /** Counts a failed try of each; after `triesMax` of them it is dead. */
    readonly failed: (
      failures: ReadonlyArray<{ readonly id: DeliveryId; readonly next: DateTime.Utc }>,
      error: string,
      triesMax: number
    ) => Effect.Effect<void>
    /** Gives back what was claimed and not tried. */
    readonly release: (ids: ReadonlyArray<DeliveryId>, at: DateTime.Utc) => Effect.Effect<void>
    /** What waits for its next try may be tried at once: the channel works again. */
    readonly hasten: (at: DateTime.Utc) => Effect.Effect<void>
    readonly list: (query: DeliveryQuery) => Effect.Effect<Page<Delivery>, InvalidCursor>
    /** Sends again what was given up, with its tries counted from none, or at once what waits. */
    readonly retry: (id: DeliveryId, at: DateTime.Utc) => Effect.Effect<Delivery, DeliveryMissing | DeliveryDone>
    readonly counts: Effect.Effect<OutboxCounts>
    /** Forgets what arrived or was given up before this time, and drops the oldest of more than `queuedMax`. */
    readonly tidy: (before: DateTime.Utc, queuedMax: number) => Effect.Effect<void>
  }
>() {}
