import { clientOf, type DhcpEvent } from "../../schema/DhcpEvent.ts"
import { sqlTime } from "./SqlParams.ts"

/** Columns of `dhcp_events` in the order in which `toTsv` writes them. */
export const dhcpEventTsvColumns = [
  "event_time",
  "protocol",
  "message_type",
  "client",
  "client_mac",
  "client_id",
  "duid",
  "iaid",
  "hostname",
  "vendor_class",
  "user_class",
  "fingerprint",
  "requested_ip",
  "assigned_ip",
  "client_ip",
  "server_ip",
  "relay_ip",
  "circuit_id",
  "remote_id",
  "subscriber_id",
  "transaction_id",
  "lease_seconds",
  "source",
  "batch",
  "row"
] as const

const special = /[\\\t\n\r\b\f\v']/
const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" }

const text = (value: string | undefined): string => {
  if (value === undefined) return ""
  return special.test(value) ? value.replace(/[\\\t\n\r]/g, (character) => escapes[character]!) : value
}

const address = (ip: string | undefined): string =>
  ip === undefined || ip === "0.0.0.0" ? "::" : ip.includes(":") ? ip : `::ffff:${ip}`

/**
 * An event as a line of ClickHouse's TabSeparated format, identified by its batch and its place in it. Written by hand,
 * since building objects and serialising them to JSON costs more than all the rest of taking in an event.
 */
export const toTsv = (event: DhcpEvent, batch: number, row: number): string =>
  `${sqlTime(event.event_time)}\t${event.protocol}\t${event.message_type}\t${clientOf(event)}\t${
    event.client_mac ?? ""
  }\t` +
  `${text(event.client_id)}\t${event.duid ?? ""}\t${event.iaid ?? "\\N"}\t${text(event.hostname)}\t` +
  `${text(event.vendor_class)}\t${text(event.user_class)}\t${text(event.fingerprint)}\t${
    address(event.requested_ip)
  }\t` +
  `${address(event.assigned_ip)}\t${address(event.client_ip)}\t${address(event.server_ip)}\t` +
  `${address(event.relay_ip)}\t${text(event.circuit_id)}\t${text(event.remote_id)}\t${text(event.subscriber_id)}\t` +
  `${text(event.transaction_id)}\t${event.lease_seconds ?? "\\N"}\t${text(event.source)}\t${batch}\t${row}\n`
