import type { NftCommandObject, NftObject } from "../schema/Nftables.ts"

/** Families in which the table stands: `inet` sees what is routed or meant for the host, `bridge` what is bridged. */
export type EnforceFamily = "inet" | "bridge"

export const enforceTable = "netops_enforce"
export const enforcedSets = ["blocked_macs", "quarantined_macs"] as const
export type EnforcedSet = (typeof enforcedSets)[number]

const add = (kind: string, object: object): NftCommandObject => ({ add: { [kind]: object } })
const match = (left: object, right: unknown) => ({ match: { op: "==", left, right } })
const payload = (protocol: string, field: string) => ({ payload: { protocol, field } })
const pass = { accept: null }

/** Ports of DHCP and DNS servers, towards which clients in quarantine still may send. */
const servers = [["udp", 67], ["udp", 547], ["udp", 53], ["tcp", 53]] as const

// Router and neighbour solicitation, neighbour advertisement: without them no IPv6 address can be spoken to.
const neighbourDiscovery = ["nd-router-solicit", "nd-neighbor-solicit", "nd-neighbor-advert"]

const addressed = (network: string) => {
  const [addr, len] = network.split("/")
  const right = len === undefined ? addr : { prefix: { addr, len: Number(len) } }
  return match(payload(addr!.includes(":") ? "ip6" : "ip", "daddr"), right)
}

/**
 * The table as it has to stand, apart from the elements of its sets: commands that bring it about whether it stands,
 * stands otherwise or is gone. `allow` are the networks that clients in quarantine still reach.
 */
export const frameCommands = (family: EnforceFamily, allow: ReadonlyArray<string>): ReadonlyArray<NftCommandObject> => {
  const at = { family, table: enforceTable }
  const rule = (chain: string, ...expr: ReadonlyArray<object>) => add("rule", { ...at, chain, expr })
  const base = { type: "filter", hook: "prerouting", prio: -300, policy: "accept" }
  return [
    add("table", { family, name: enforceTable }),
    ...enforcedSets.map((name) => add("set", { ...at, name, type: "ether_addr", flags: ["timeout"] })),
    add("chain", { ...at, name: "from_clients", ...base }),
    add("chain", { ...at, name: "quarantine" }),
    { flush: { chain: { ...at, name: "from_clients" } } },
    { flush: { chain: { ...at, name: "quarantine" } } },
    ...(family === "bridge" ? [rule("quarantine", match(payload("ether", "type"), "arp"), pass)] : []),
    ...servers.map(([protocol, port]) => rule("quarantine", match(payload(protocol, "dport"), port), pass)),
    ...neighbourDiscovery.map((type) => rule("quarantine", match(payload("icmpv6", "type"), type), pass)),
    ...allow.map((network) => rule("quarantine", addressed(network), pass)),
    rule("quarantine", { counter: null }, { drop: null }),
    rule("from_clients", match(payload("ether", "saddr"), "@blocked_macs"), { counter: null }, { drop: null }),
    rule("from_clients", match(payload("ether", "saddr"), "@quarantined_macs"), { jump: { target: "quarantine" } })
  ]
}

/** Takes the table away and makes it anew, for one that stands in another shape. */
export const replaceCommands = (family: EnforceFamily): ReadonlyArray<NftCommandObject> => [
  add("table", { family, name: enforceTable }),
  { delete: { table: { family, name: enforceTable } } }
]

type Json = Readonly<Record<string, unknown>>

const isVolatile = (key: string) => ["handle", "packets", "bytes", "elem"].includes(key)

/** What stands of the table in a listing, apart from the elements: equal texts mean equal frames. */
export const frameText = (listed: ReadonlyArray<NftObject>, family: EnforceFamily): string =>
  listed.filter((object) => {
    const [kind, body] = Object.entries(object)[0] ?? ["", {}]
    const { family: its, name, table } = body as Json
    return its === family && (kind === "table" ? name : table) === enforceTable
  }).map((object) => JSON.stringify(object, (key, value) => isVolatile(key) ? undefined : value)).join("\n")
