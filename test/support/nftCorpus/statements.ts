import { type Family, match, payload } from "./words.ts"

const dport = payload("tcp", "dport")
const saddr = payload("ip", "saddr")

/** Statements as rules have them, and the families where they may stand. */
export const statements: ReadonlyArray<readonly [ReadonlyArray<Family>, ...ReadonlyArray<unknown>]> = [
  ...[
    "accept",
    "drop",
    "continue",
    "return",
    "notrack",
    "masquerade",
    "redirect",
    "last",
    "log",
    "counter",
    "queue",
    "fwd"
  ]
    .map((verb) => [["ip", "inet", "netdev"], { [verb]: null }] as const),
  [["ip", "arp"], { jump: { target: "side" } }],
  [["ip6", "inet"], { goto: { target: "side" } }],
  [["inet"], { jump: { target: "nowhere" } }],
  [["inet"], { counter: { packets: 3, bytes: 300 } }, { counter: "k" }],
  [["inet"], { counter: { map: { key: dport, data: { set: [[443, "k"], ["http", "k2"]] } } } }],
  [["inet"], { quota: { val: 500, val_unit: "mbytes", inv: true } }, { quota: "q" }],
  [["inet"], { quota: { map: { key: dport, data: { set: [[443, "q"], [80, "q"]] } } } }],
  [["inet"], { limit: { rate: 400, per: "minute", burst: 5 } }, { limit: "l" }],
  [["ip", "netdev"], { limit: { rate: 10, rate_unit: "kbytes", per: "second", burst_unit: "bytes", inv: true } }],
  [["ip", "bridge"], {
    log: { prefix: "in: www.example.net ", level: "debug", flags: ["tcp sequence", "ip options"] }
  }],
  [["ip"], { log: { group: 2, snaplen: 33, "queue-threshold": 2 } }, { log: { level: "audit" } }],
  ...["icmpx", "icmp", "icmpv6"].map((type) =>
    [["ip", "ip6", "inet", "bridge"], { reject: { type, expr: "port-unreachable" } }] as const
  ),
  [["ip"], { reject: { type: "icmp", expr: "host-prohibited" } }, { reject: { type: "tcp reset" } }],
  [["inet"], match({ meta: { key: "l4proto" } }, "tcp"), { reject: { type: "tcp reset" } }],
  [["ip"], { reject: null }],
  [["ip", "inet"], {
    snat: { addr: "192.0.2.9", port: { range: [1000, 2000] }, family: "ip", flags: ["random", "persistent"] }
  }],
  [["ip", "ip6"], { snat: { addr: { range: ["192.0.2.1", "192.0.2.9"] } } }],
  [["ip6"], match(dport, 80), { dnat: { addr: { range: ["2001:db8::1", "2001:db8::9"] }, port: 8080 } }],
  [["ip"], { snat: { addr: { prefix: { addr: "192.0.2.0", len: 24 } }, flags: "netmap", type_flags: "prefix" } }],
  [["ip"], {
    dnat: {
      addr: {
        map: {
          key: { concat: [saddr, dport] },
          data: { set: [[{ concat: ["192.0.2.1", 80] }, { concat: ["10.0.0.1", 8080] }]] }
        }
      }
    }
  }],
  [["ip"], { dnat: { addr: { map: { key: saddr, data: "@hosts" } } } }],
  [["ip", "inet"], match(dport, 22), { redirect: { port: 2222, flags: "random" } }],
  [["ip", "ip6"], match(dport, 22), {
    masquerade: { port: { range: [1024, 65535] }, flags: ["random", "fully-random"] }
  }],
  [["ip"], { dup: { addr: "192.0.2.1", dev: "lo" } }, { dup: { addr: "192.0.2.1" } }],
  [["netdev"], { dup: { addr: "lo" } }],
  [["netdev"], { fwd: { dev: "lo" } }],
  [["netdev"], { fwd: { dev: "lo", addr: "192.0.2.1", family: "ip" } }],
  [["ip"], { dup: { addr: { map: { key: saddr, data: { set: [["192.0.2.1", "192.0.2.2"]] } } }, dev: "lo" } }],
  [["ip", "inet"], { queue: { num: { range: [1, 4] }, flags: ["bypass", "fanout"] } }],
  [["ip"], { queue: { num: { numgen: { mode: "inc", mod: 4 } } } }, { queue: { num: 3, flags: "bypass" } }],
  [["ip", "inet"], { "ct helper": "ftp-standard" }, { "ct timeout": "slow" }, { "ct expectation": "expect" }],
  [["ip"], { "ct helper": { map: { key: dport, data: { set: [[21, "ftp-standard"], ["ssh", "ftp-standard"]] } } } }],
  [["ip"], { "ct count": { val: 20, inv: true } }],
  [["ip", "inet"], match(dport, 80), { synproxy: { mss: 1460, wscale: 7, flags: ["timestamp", "sack-perm"] } }],
  [["ip", "inet"], match(dport, 80), { synproxy: "proxy" }, { synproxy: null }],
  [["ip", "inet"], match({ meta: { key: "l4proto" } }, "tcp"), {
    tproxy: { addr: "192.0.2.1", port: 1080, family: "ip" }
  }],
  [["ip6"], match({ meta: { key: "l4proto" } }, 17), { tproxy: { addr: "2001:db8::1", port: 1080 } }],
  [["ip", "inet"], { flow: { op: "add", flowtable: "@f" } }],
  [["ip"], { set: { op: "add", elem: saddr, set: "@addresses" } }, {
    set: { op: "delete", elem: saddr, set: "@addresses" }
  }],
  [["ip"], { map: { op: "add", elem: saddr, data: dport, map: "@ports" } }, match(saddr, "@addresses")],
  [["ip"], match({ concat: [saddr, dport] }, "@pairs"), { vmap: { key: saddr, data: "@verdicts" } }],
  [["inet"], { secmark: "sec" }, { mangle: { key: { ct: { key: "event" } }, value: ["new", "related", "destroy"] } }],
  [["inet"], { mangle: { key: { ct: { key: "mark" } }, value: { "|": [{ ct: { key: "mark" } }, "0x1331"] } } }],
  [["ip"], { mangle: { key: payload("ip", "dscp"), value: "af23" } }, {
    mangle: { key: payload("ip", "saddr"), value: "192.0.2.1" }
  }],
  [["inet"], match(dport, "no-such-service")],
  [["ip"], { xt: null }],
  [["inet"], { nonsense: { key: 1 } }],
  [["inet"]],
  [["inet"], { accept: null }, { drop: null }, match(dport, 80)]
]
