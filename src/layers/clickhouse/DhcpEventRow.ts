import { clientOf, type DhcpEvent } from "../../schema/DhcpEvent.ts"
import { sqlTime } from "./SqlParams.ts"

const texts = [
  "client_id",
  "hostname",
  "vendor_class",
  "user_class",
  "fingerprint",
  "circuit_id",
  "remote_id",
  "subscriber_id",
  "transaction_id",
  "source"
] as const
const addresses = ["requested_ip", "assigned_ip", "client_ip", "server_ip", "relay_ip"] as const
const numbers = ["iaid", "lease_seconds"] as const

/** A row of `dhcp_events` in ClickHouse's JSONEachRow, written and read. */
export type DhcpEventRow =
  & { readonly [Field in (typeof texts)[number] | (typeof addresses)[number]]: string }
  & { readonly [Field in (typeof numbers)[number]]: number | null }
  & {
    readonly event_time: string
    readonly protocol: DhcpEvent["protocol"]
    readonly message_type: DhcpEvent["message_type"]
    readonly client: string
    readonly client_mac: string
    readonly duid: string
    /** a string when read with `output_format_json_quote_64bit_integers` */
    readonly batch: number | string
    readonly row: number
  }

const address = (ip: string | undefined): string =>
  ip === undefined || ip === "0.0.0.0" ? "::" : ip.includes(":") ? ip : `::ffff:${ip}`

/** The row of an event, identified by its batch and its place in it. */
export const toRow = (event: DhcpEvent, batch: number, row: number): DhcpEventRow => ({
  event_time: sqlTime(event.event_time),
  protocol: event.protocol,
  message_type: event.message_type,
  client: clientOf(event),
  client_mac: event.client_mac ?? "",
  client_id: event.client_id ?? "",
  duid: event.duid ?? "",
  iaid: event.iaid ?? null,
  hostname: event.hostname ?? "",
  vendor_class: event.vendor_class ?? "",
  user_class: event.user_class ?? "",
  fingerprint: event.fingerprint ?? "",
  requested_ip: address(event.requested_ip),
  assigned_ip: address(event.assigned_ip),
  client_ip: address(event.client_ip),
  server_ip: address(event.server_ip),
  relay_ip: address(event.relay_ip),
  circuit_id: event.circuit_id ?? "",
  remote_id: event.remote_id ?? "",
  subscriber_id: event.subscriber_id ?? "",
  transaction_id: event.transaction_id ?? "",
  lease_seconds: event.lease_seconds ?? null,
  source: event.source ?? "",
  batch,
  row
})

const mapped = "::ffff:"
const dotted = /^::(\d+)\.(\d+)\.(\d+)\.(\d+)$/

/** ClickHouse writes RFC 5952 texts, save that the addresses of ::/96 end in a dotted quad. */
const ipOf = (text: string): string => {
  if (!text.includes(".")) return text
  if (text.startsWith(mapped)) return text.slice(mapped.length)
  const octets = dotted.exec(text)!.slice(1).map(Number)
  const group = (high: number, low: number) => (high * 256 + low).toString(16)
  return `::${group(octets[0]!, octets[1]!)}:${group(octets[2]!, octets[3]!)}`
}

/** The event of a row, absent values left out, with its identity. Trusts the row: it was written by `toRow`. */
export const fromRow = (row: DhcpEventRow): {
  readonly event: DhcpEvent
  readonly batch: number
  readonly row: number
} => {
  const event: Record<string, unknown> = {
    event_time: `${row.event_time.slice(0, 10)}T${row.event_time.slice(11)}Z`,
    protocol: row.protocol,
    message_type: row.message_type
  }
  if (row.client_mac !== "") event["client_mac"] = row.client_mac
  if (row.duid !== "") event["duid"] = row.duid
  for (const field of texts) if (row[field] !== "") event[field] = row[field]
  for (const field of addresses) if (row[field] !== "::") event[field] = ipOf(row[field])
  for (const field of numbers) if (row[field] !== null) event[field] = row[field]
  return { event: event as unknown as DhcpEvent, batch: Number(row.batch), row: row.row }
}
