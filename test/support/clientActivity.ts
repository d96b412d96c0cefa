import { readFileSync } from "node:fs"
import { type DhcpEventEncoded, isRequest } from "../../src/schema/DhcpEvent.ts"

/** `protocol client` to requests and unique addresses. */
export type Activity = Readonly<Record<string, { readonly requests: number; readonly unique_ips: number }>>

/** The figures of each client by the definitions of a request and a unique address. */
export const activityOf = (events: ReadonlyArray<DhcpEventEncoded>): Activity => {
  const clients = new Map<string, { requests: number; ips: Set<string> }>()
  for (const event of events) {
    const key = `${event.protocol} ${event.client_mac ?? event.duid}`
    const client = clients.get(key) ?? { requests: 0, ips: new Set<string>() }
    if (isRequest(event.message_type)) client.requests++
    for (const ip of [event.assigned_ip, event.client_ip, event.requested_ip]) if (ip !== undefined) client.ips.add(ip)
    clients.set(key, client)
  }
  return Object.fromEntries(
    [...clients].map(([key, { ips, requests }]) => [key, { requests, unique_ips: ips.size }])
  )
}

/** The figures recorded beside a capture: protocol, MAC, DUID, requests, unique addresses, tab-separated. */
export const readClients = (path: string): Activity =>
  Object.fromEntries(
    readFileSync(path, "utf8").trimEnd().split("\n").slice(1).map((line) => {
      const [protocol, mac, duid, requests, ips] = line.split("\t")
      return [`${protocol} ${mac || duid}`, { requests: Number(requests), unique_ips: Number(ips) }]
    })
  )
