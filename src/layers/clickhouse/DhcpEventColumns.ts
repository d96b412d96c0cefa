import type { DhcpEventFilterField } from "../../schema/FilterFields.ts"
import type { FilterColumns } from "./FilterSql.ts"

/** The columns of `dhcp_events` that filters ask. */
export const dhcpEventColumns: FilterColumns<DhcpEventFilterField> = {
  event_time: { sql: "event_time", storage: "time" },
  protocol: { sql: "protocol", storage: "enum" },
  message_type: { sql: "message_type", storage: "string" },
  client: { sql: "client", storage: "string" },
  client_mac: { sql: "client_mac", storage: "string" },
  client_id: { sql: "client_id", storage: "string" },
  duid: { sql: "duid", storage: "string" },
  iaid: { sql: "iaid", storage: "nullable_number" },
  hostname: { sql: "hostname", storage: "string" },
  vendor_class: { sql: "vendor_class", storage: "string" },
  user_class: { sql: "user_class", storage: "string" },
  fingerprint: { sql: "fingerprint", storage: "string" },
  requested_ip: { sql: "requested_ip", storage: "ipv6" },
  assigned_ip: { sql: "assigned_ip", storage: "ipv6" },
  client_ip: { sql: "client_ip", storage: "ipv6" },
  server_ip: { sql: "server_ip", storage: "ipv6" },
  relay_ip: { sql: "relay_ip", storage: "ipv6" },
  circuit_id: { sql: "circuit_id", storage: "string" },
  remote_id: { sql: "remote_id", storage: "string" },
  subscriber_id: { sql: "subscriber_id", storage: "string" },
  transaction_id: { sql: "transaction_id", storage: "string" },
  lease_seconds: { sql: "lease_seconds", storage: "nullable_number" },
  source: { sql: "source", storage: "string" }
}
