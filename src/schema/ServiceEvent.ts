import { type DateTime, Schema } from "effect"
import { Protocol } from "./DhcpEvent.ts"

export const severities = ["info", "warning", "critical"] as const
export const EventSeverity = Schema.Literal(...severities)
export type EventSeverity = typeof EventSeverity.Type

const id = Schema.String
const count = Schema.NonNegativeInt
const orNull = <A>(schema: Schema.Schema<A>) => Schema.NullOr(schema)

const alarm = Schema.Struct({
  alarm_id: id,
  rule_id: id,
  rule_name: Schema.String,
  client: Schema.String.annotations({ description: "MAC of the client, or its DUID where it has none" }),
  protocol: Protocol,
  status: Schema.Literal("firing", "acknowledged", "resolved"),
  total_requests: count,
  unique_ips: count,
  comment: Schema.String,
  by: orNull(Schema.Int).annotations({ description: "user who did it, null where the service did" })
})
const job = Schema.Struct({
  job_id: id,
  action: Schema.String,
  status: Schema.String,
  total: count,
  processed: count,
  succeeded: count,
  skipped: count,
  failed: count
})
const firewall = Schema.Struct({
  config_id: id,
  config_name: Schema.String,
  version: orNull(count),
  tables: Schema.Array(Schema.String),
  confirm_deadline: orNull(Schema.String)
})
const drift = Schema.Struct({
  config_id: id,
  config_name: Schema.String,
  node: Schema.String,
  added: count,
  removed: count,
  changed: count
})
const disk = Schema.Struct({ used_percent: Schema.Number, total_bytes: count, used_bytes: count, free_bytes: count })

/** Every type of event with the schema of its data; a new one needs a line here and in `momentOf` where it has a twin. */
export const eventCatalogue = {
  "automation.mac.detected": Schema.Struct({
    rule_id: id,
    rule_name: Schema.String,
    run_id: id,
    client: Schema.String,
    protocol: Protocol,
    total_requests: count,
    unique_ips: count
  }),
  "automation.rule.failed": Schema.Struct({
    rule_id: id,
    rule_name: Schema.String,
    run_id: id,
    error: Schema.String
  }),
  "alarm.opened": alarm,
  "alarm.reopened": alarm,
  "alarm.acknowledged": alarm,
  "alarm.resolved": alarm,
  "bulk.job.scheduled": job,
  "bulk.job.started": job,
  "bulk.job.completed": job,
  "bulk.job.partial": job,
  "bulk.job.failed": job,
  "bulk.job.cancelled": job,
  "nft.config.applied": firewall,
  "nft.config.confirmed": firewall,
  "nft.config.rolled_back": firewall,
  "nft.config.failed": firewall,
  "nft.config.deactivated": firewall,
  "nft.config.drifted": drift,
  "nft.config.drift_ended": drift,
  "action.expired": Schema.Struct({ action_id: id, action: Schema.String, client: Schema.String }),
  "auth.login.locked": Schema.Struct({
    user_id: orNull(Schema.Int),
    username: orNull(Schema.String).annotations({ description: "null where there is no such user" }),
    address: Schema.String,
    failures: count
  }),
  "retention.disk.warning": disk,
  "retention.disk.recovered": disk,
  "notification.test": Schema.Struct({ message: Schema.String })
} as const

export type EventType = keyof typeof eventCatalogue
export type EventData<T extends EventType> = (typeof eventCatalogue)[T]["Type"]

export const eventTypes = Object.keys(eventCatalogue) as ReadonlyArray<EventType>
export const EventTypeName = Schema.Literal(...eventTypes)

/** What happened, before it has an identity; `subject` names the thing that it happened to, as `alarm/ID`. */
export type EventDraft = {
  readonly [T in EventType]: {
    readonly type: T
    readonly subject: string
    readonly severity: EventSeverity
    readonly time: DateTime.Utc
    readonly data: EventData<T>
  }
}[EventType]

/** An event of the service in the envelope of CloudEvents 1.0, with `severity` as extension attribute. */
export type ServiceEvent = EventDraft & {
  readonly specversion: "1.0"
  readonly id: string
  readonly source: "/netops"
  readonly datacontenttype: "application/json"
}

const envelopeOf = (type: EventType) =>
  Schema.Struct({
    specversion: Schema.Literal("1.0"),
    id: Schema.UUID,
    source: Schema.Literal("/netops"),
    type: Schema.Literal(type),
    subject: Schema.String,
    time: Schema.DateTimeUtc,
    datacontenttype: Schema.Literal("application/json"),
    severity: EventSeverity,
    data: eventCatalogue[type] as unknown as Schema.Schema<unknown>
  }).annotations({ title: type })

/** As JSON: the time is RFC 3339 text, everything else as it is. */
export type ServiceEventJson = Omit<ServiceEvent, "time"> & { readonly time: string }

export const ServiceEvent = Schema.Union(...eventTypes.map(envelopeOf)).annotations({
  identifier: "ServiceEvent"
}) as unknown as Schema.Schema<ServiceEvent, ServiceEventJson>

/** An event of this draft under this id. */
export const serviceEvent = (eventId: string, draft: EventDraft): ServiceEvent => ({
  specversion: "1.0",
  id: eventId,
  source: "/netops",
  datacontenttype: "application/json",
  ...draft
})

/**
 * Whether an event begins a state of its subject that lasts (`firing`), ends it (`resolved`) or is over at once
 * (`event`). Events of one `alert` name are about the same kind of state.
 */
export interface Moment {
  readonly state: "firing" | "resolved" | "event"
  readonly alert: string
}

const moments: Readonly<Partial<Record<EventType, Moment>>> = {
  "alarm.opened": { state: "firing", alert: "alarm" },
  "alarm.reopened": { state: "firing", alert: "alarm" },
  "alarm.resolved": { state: "resolved", alert: "alarm" },
  "nft.config.drifted": { state: "firing", alert: "nft.config.drift" },
  "nft.config.drift_ended": { state: "resolved", alert: "nft.config.drift" },
  "retention.disk.warning": { state: "firing", alert: "retention.disk" },
  "retention.disk.recovered": { state: "resolved", alert: "retention.disk" }
}

export const momentOf = (type: EventType): Moment => moments[type] ?? { state: "event", alert: type }

/** Whether a severity is at least another. */
export const isAtLeast = (severity: EventSeverity, least: EventSeverity): boolean =>
  severities.indexOf(severity) >= severities.indexOf(least)
