import { DateTime } from "effect"
import type { EventFilter, EventFilterField } from "../schema/EventFilter.ts"
import { momentOf, type ServiceEvent } from "../schema/ServiceEvent.ts"
import { compileFilterPredicate, type FieldReaders } from "./FilterPredicate.ts"

const datum = (name: string) => (event: ServiceEvent): string | undefined => {
  const value = (event.data as Readonly<Record<string, unknown>>)[name]
  return typeof value === "string" ? value : undefined
}

/** The fields of an event; those of its data are there only where its type has them. */
export const eventReaders: FieldReaders<ServiceEvent, EventFilterField> = {
  type: ({ type }) => type,
  alert: ({ type }) => momentOf(type).alert,
  severity: ({ severity }) => severity,
  subject: ({ subject }) => subject,
  time: ({ time }) => DateTime.formatIso(time),
  rule_id: datum("rule_id"),
  rule_name: datum("rule_name"),
  client: datum("client"),
  protocol: datum("protocol"),
  config_id: datum("config_id"),
  config_name: datum("config_name"),
  job_id: datum("job_id"),
  username: datum("username"),
  address: datum("address")
}

export const compileEventPredicate = (filter: EventFilter): (event: ServiceEvent) => boolean =>
  compileFilterPredicate(filter, eventReaders)
