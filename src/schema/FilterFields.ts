import { messageTypes, protocols } from "./DhcpEvent.ts"
import { Filter } from "./Filter.ts"

/** What filters on DHCP events can ask: every field of an event and `client`, its MAC or else its DUID. */
export const dhcpEventFilterFields = {
  event_time: "time",
  protocol: { enum: protocols },
  message_type: { enum: messageTypes },
  client: "client",
  client_mac: "mac",
  client_id: "text",
  duid: "duid",
  iaid: "number",
  hostname: "text",
  vendor_class: "text",
  user_class: "text",
  fingerprint: "text",
  requested_ip: "ip",
  assigned_ip: "ip",
  client_ip: "ip",
  server_ip: "ip",
  relay_ip: "ip",
  circuit_id: "text",
  remote_id: "text",
  subscriber_id: "text",
  transaction_id: "text",
  lease_seconds: "number",
  source: "text"
} as const
export type DhcpEventFilterField = keyof typeof dhcpEventFilterFields

/** A filter on DHCP events. */
export const DhcpEventFilter = Filter("DhcpEventFilter", dhcpEventFilterFields)
export type DhcpEventFilter = typeof DhcpEventFilter.Type
