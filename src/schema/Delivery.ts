import { Schema } from "effect"
import { ServiceEvent } from "./ServiceEvent.ts"

export const DeliveryId = Schema.UUID.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** `dead`: given up after so many tries; `dropped`: pushed out of a full outbox. Both can be sent again. */
export const DeliveryStatus = Schema.Literal("pending", "delivered", "dead", "dropped")
export type DeliveryStatus = typeof DeliveryStatus.Type

/** Why a record is sent: what it tells of is new, or it still lasts. */
export const DeliveryReason = Schema.Literal("new", "repeat")

/** What stands in a record beside the event. */
export const NotificationNote = Schema.Struct({
  delivery_id: DeliveryId.annotations({ description: "the same at each try: what a receiver tells repetitions by" }),
  rule_id: Schema.String,
  rule_name: Schema.String,
  group: Schema.Record({ key: Schema.String, value: Schema.String }),
  reason: DeliveryReason,
  state: Schema.Literal("firing", "resolved", "event"),
  sequence: Schema.Int.annotations({ description: "number of the notification within its group, from 1" })
})
export type NotificationNote = typeof NotificationNote.Type

/** One event on its way through the channel. */
export const Delivery = Schema.Struct({
  id: DeliveryId,
  rule_id: Schema.String,
  group_key: Schema.String,
  status: DeliveryStatus,
  reason: DeliveryReason,
  event: ServiceEvent,
  notification: NotificationNote,
  attempts: Schema.NonNegativeInt,
  last_error: Schema.String,
  created_at: Schema.DateTimeUtc,
  next_attempt_at: Schema.DateTimeUtc,
  delivered_at: Schema.NullOr(Schema.DateTimeUtc)
}).annotations({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type
