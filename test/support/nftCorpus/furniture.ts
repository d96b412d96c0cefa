import type { Family, Json } from "./words.ts"

const chain = (family: Family, table: string): Json =>
  family === "netdev"
    ? { family, table, name: "c", type: "filter", hook: "ingress", dev: "lo", prio: 0 }
    : { family, table, name: "c", type: "filter", hook: family === "bridge" ? "prerouting" : "input", prio: 0 }

/** What rules refer to. */
export const furniture = (family: Family): ReadonlyArray<unknown> => {
  const at = { family, table: "corpus" }
  const common: ReadonlyArray<Json> = [
    { table: { family, name: "corpus" } },
    { chain: chain(family, "corpus") },
    { chain: { ...at, name: "side" } },
    { counter: { ...at, name: "k" } },
    { counter: { ...at, name: "k2", packets: 7, bytes: 70 } },
    { quota: { ...at, name: "q", bytes: 1000, inv: false } },
    { limit: { ...at, name: "l", rate: 10, per: "second", burst: 5 } }
  ]
  const layer3: ReadonlyArray<Json> = [
    { chain: { ...at, name: "nat", type: "nat", hook: "prerouting", prio: -100 } },
    { set: { ...at, name: "addresses", type: "ipv4_addr", flags: ["timeout", "dynamic"], size: 100 } },
    { set: { ...at, name: "dynamic", type: "ipv4_addr", flags: ["dynamic", "timeout"], size: 9, timeout: 60 } },
    { set: { ...at, name: "pairs", type: ["ipv4_addr", "inet_service"], elem: [{ concat: ["192.0.2.1", "ssh"] }] } },
    { map: { ...at, name: "ports", type: "ipv4_addr", map: "inet_service", size: 100 } },
    { map: { ...at, name: "hosts", type: "ipv4_addr", map: "ipv4_addr", elem: [["192.0.2.1", "192.0.2.2"]] } },
    { map: { ...at, name: "verdicts", type: "ipv4_addr", map: "verdict", elem: [["192.0.2.1", { drop: null }]] } },
    { flowtable: { ...at, name: "f", hook: "ingress", prio: 0, dev: "lo" } },
    { "ct helper": { ...at, name: "ftp-standard", type: "ftp", protocol: "tcp", l3proto: "ip" } },
    { "ct timeout": { ...at, name: "slow", protocol: "tcp", l3proto: "ip", policy: { established: 132, close: 20 } } },
    {
      "ct expectation": { ...at, name: "expect", l3proto: "ip", protocol: "tcp", dport: 9876, timeout: 60000, size: 12 }
    },
    { synproxy: { ...at, name: "proxy", mss: 1460, wscale: 7, flags: ["timestamp", "sack-perm"] } },
    { secmark: { ...at, name: "sec", context: "system_u:object_r:ssh_server_packet_t:s0" } }
  ]
  return [...common, ...family === "ip" || family === "inet" ? layer3 : []].map((object) => ({ add: object }))
}
