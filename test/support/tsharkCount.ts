import { execFileSync } from "node:child_process"
import type { Activity } from "./clientActivity.ts"

const fields = [
  "dhcp.option.dhcp",
  "dhcp.hw.mac_addr",
  "dhcp.ip.your",
  "dhcp.ip.client",
  "dhcp.option.requested_ip_address",
  "dhcpv6.msgtype",
  "dhcpv6.duidllt.link_layer_addr",
  "dhcpv6.iaaddr.ip"
]

/** The figures of each client by tshark's own fields, and the packets counted. */
export const countOf = (path: string): { readonly packets: number; readonly activity: Activity } => {
  const options = fields.flatMap((field) => ["-e", field])
  const lines = execFileSync("tshark", ["-n", "-r", path, "-Y", "dhcp || dhcpv6", "-T", "fields", ...options], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  }).replace(/\n$/, "").split("\n")
  const clients = new Map<string, { requests: number; ips: Set<string> }>()
  for (const line of lines) {
    const [type4, mac4, yours, own, requested, type6, mac6, address] = line.split("\t")
    const [key, request] = type4 !== ""
      ? [`dhcpv4 ${mac4!.split(",")[0]}`, ["1", "3", "4", "7", "8"].includes(type4!)]
      : [`dhcpv6 ${mac6!.split(",")[0]}`, !["2", "7", "10"].includes(type6!)]
    const client = clients.get(key) ?? { requests: 0, ips: new Set<string>() }
    if (request) client.requests++
    for (const ip of [yours, own, requested, address]) if (ip && ip !== "0.0.0.0") client.ips.add(ip)
    clients.set(key, client)
  }
  const activity = Object.fromEntries(
    [...clients].map(([key, { ips, requests }]) => [key, { requests, unique_ips: ips.size }])
  )
  return { packets: lines.length, activity }
}
