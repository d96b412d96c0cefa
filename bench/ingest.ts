import { createClient } from "@clickhouse/client"
import { Either } from "effect"
import { toRow } from "../src/layers/clickhouse/DhcpEventRow.ts"
import { decodeEventLine } from "../src/services/DhcpEventLine.ts"
import { compare } from "./harness.ts"
import type { Service } from "./service.ts"

const lines = 200_000

/** The NDJSON of an event of the hour before `now`, one of 2^32 clients. */
export const eventLine = (index: number, now: number): string =>
  JSON.stringify({
    event_time: new Date(now - (index % 3_600_000)).toISOString(),
    protocol: "dhcpv4",
    message_type: index % 2 === 0 ? "discover" : "request",
    client_mac: `02:00:${
      [24, 16, 8, 0].map((bits) => ((index >> bits) & 255).toString(16).padStart(2, "0")).join(":")
    }`,
    hostname: `host-${index % 5000}`,
    vendor_class: "MSFT 5.0",
    fingerprint: "1,28,2,3,15,6,12",
    requested_ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
    relay_ip: "10.66.0.2",
    transaction_id: index.toString(16).padStart(8, "0"),
    source: "bench"
  })

/** NDJSON through the API, every line decoded and checked, beside a direct insert of the same rows. */
export const ingest = async ({ clickHouseUrl, token, url }: Service) => {
  const now = Date.now()
  const all = Array.from({ length: lines }, (_, index) => eventLine(index, now))
  const body = all.join("\n")
  const rows = all.map((text, index) => toRow(Either.getOrThrow(decodeEventLine(text)), 0, index))
  const clickhouse = createClient({ url: clickHouseUrl, database: "netops" })
  try {
    return await compare({
      title: `ingest of ${lines} events`,
      work: { count: lines, unit: "events" },
      target: "at least 0.5 x, at least 100 000 events/s",
      ours: {
        name: "POST /api/dhcp/events",
        run: async () => {
          const response = await fetch(`${url}/api/dhcp/events`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
            body
          })
          const verdict = await response.json() as { readonly accepted: number }
          if (verdict.accepted !== lines) throw new Error(`accepted ${verdict.accepted} of ${lines}`)
        }
      },
      peer: {
        name: "@clickhouse/client insert",
        run: async () => void await clickhouse.insert({ table: "dhcp_events", format: "JSONEachRow", values: rows })
      }
    })
  } finally {
    await clickhouse.close()
  }
}
