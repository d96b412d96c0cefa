import { clientOf, type DhcpEvent } from "../schema/DhcpEvent.ts"
import type { DhcpEventFilter, DhcpEventFilterField } from "../schema/FilterFields.ts"
import { compileFilterPredicate, type FieldReaders } from "./FilterPredicate.ts"

/** The filter fields of an event; `client` is derived. */
export const dhcpEventReaders: FieldReaders<DhcpEvent, DhcpEventFilterField> = {
  event_time: (event) => event.event_time,
  protocol: (event) => event.protocol,
  message_type: (event) => event.message_type,
  client: clientOf,
  client_mac: (event) => event.client_mac,
  client_id: (event) => event.client_id,
  duid: (event) => event.duid,
  iaid: (event) => event.iaid,
  hostname: (event) => event.hostname,
  vendor_class: (event) => event.vendor_class,
  user_class: (event) => event.user_class,
  fingerprint: (event) => event.fingerprint,
  requested_ip: (event) => event.requested_ip,
  assigned_ip: (event) => event.assigned_ip,
  client_ip: (event) => event.client_ip,
  server_ip: (event) => event.server_ip,
  relay_ip: (event) => event.relay_ip,
  circuit_id: (event) => event.circuit_id,
  remote_id: (event) => event.remote_id,
  subscriber_id: (event) => event.subscriber_id,
  transaction_id: (event) => event.transaction_id,
  lease_seconds: (event) => event.lease_seconds,
  source: (event) => event.source
}

/** The test that a stream runs on every event. */
export const compileDhcpEventPredicate = (filter: DhcpEventFilter): (event: DhcpEvent) => boolean =>
  compileFilterPredicate(filter, dhcpEventReaders)
