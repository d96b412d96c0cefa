import type { NftCommandObject } from "../schema/Nftables.ts"
import type { NftCounter } from "./Nft.ts"

/** What has passed in each direction, and what was refused. */
export interface Traffic {
  readonly inbound_bytes: number
  readonly outbound_bytes: number
  readonly inbound_packets: number
  readonly outbound_packets: number
  readonly blocked_bytes: number
  readonly blocked_packets: number
}

const names = ["inbound", "outbound", "blocked"] as const

/** The totals that the named counters tell; `undefined` where one of the two directions isn't counted. */
export const totalsOf = (counters: ReadonlyArray<NftCounter>): Traffic | undefined => {
  const [inbound, outbound, blocked] = names.map((name) => counters.find((counter) => counter.name === name))
  if (inbound === undefined || outbound === undefined) return undefined
  return {
    inbound_bytes: inbound.bytes,
    outbound_bytes: outbound.bytes,
    inbound_packets: inbound.packets,
    outbound_packets: outbound.packets,
    blocked_bytes: blocked?.bytes ?? 0,
    blocked_packets: blocked?.packets ?? 0
  }
}

/** What a new counter has counted. */
export const nothing: Traffic = {
  inbound_bytes: 0,
  outbound_bytes: 0,
  inbound_packets: 0,
  outbound_packets: 0,
  blocked_bytes: 0,
  blocked_packets: 0
}

const fields = Object.keys(nothing) as ReadonlyArray<keyof Traffic>

/**
 * What was counted between two readings. A total that is less than before began again from zero, and then all of it
 * came since: what was counted between the last reading and the reset is lost, never counted twice.
 */
export const trafficBetween = (before: Traffic, after: Traffic): Traffic =>
  Object.fromEntries(
    fields.map((field) => [field, after[field] >= before[field] ? after[field] - before[field] : after[field]])
  ) as unknown as Traffic

/** The table of the enforcement, whose counters are read where it has them. */
export const enforcementTable = { family: "inet", name: "netops_enforce" } as const

/** The table of our own that counts where nothing else does. */
export const meterTable = { family: "inet", name: "netops_meter" } as const

const { family, name: table } = meterTable

/** Before any filter, so that what is refused later has come in all the same. */
const priority = -400

const chain = (name: string, hook: string) => ({
  add: { chain: { family, table, name, type: "filter", hook, prio: priority, policy: "accept" } }
})

const meta = (key: string, op: "==" | "!=", right: string) => ({ match: { op, left: { meta: { key } }, right } })

const count = (chainName: string, counter: string, ...matches: ReadonlyArray<object>) => ({
  add: { rule: { family, table, chain: chainName, expr: [...matches, { counter }] } }
})

/**
 * Commands that make the meter: what comes to this host counts as inbound, what it sends as outbound, loopback apart.
 * Of what it forwards, what crosses the `uplink` counts.
 */
export const meterCommands = (uplink: string | undefined): ReadonlyArray<NftCommandObject> => [
  { add: { table: { family, name: table } } },
  { add: { counter: { family, table, name: "inbound" } } },
  { add: { counter: { family, table, name: "outbound" } } },
  chain("input", "input"),
  chain("output", "output"),
  count("input", "inbound", meta("iifname", "!=", "lo")),
  count("output", "outbound", meta("oifname", "!=", "lo")),
  ...(uplink === undefined ? [] : [
    chain("forward", "forward"),
    count("forward", "inbound", meta("iifname", "==", uplink)),
    count("forward", "outbound", meta("oifname", "==", uplink))
  ])
]
