import { Schema } from "effect"
import { ServiceEvent } from "../../schema/ServiceEvent.ts"
import type { PipelineRecord } from "../LogPipelineChannel.ts"

const encode = Schema.encodeSync(ServiceEvent)

/** What a record says of its notification. */
export interface RecordNote {
  readonly delivery_id: string
  readonly rule_id: string
  readonly rule_name: string
  readonly group: Readonly<Record<string, string>>
  readonly reason: "new" | "repeat"
  readonly state: "firing" | "resolved" | "event"
  readonly sequence: number
}

/** The record of one delivery: the event's envelope and a note of the notification. */
export const recordOf = (event: ServiceEvent, notification: RecordNote): PipelineRecord => {
  const encoded = encode(event)
  return {
    json: JSON.stringify({ ...encoded, notification }),
    type: event.type,
    severity: event.severity,
    time: encoded.time,
    eventId: event.id,
    deliveryId: notification.delivery_id
  }
}
