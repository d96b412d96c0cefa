import { type Json, macs, payload } from "./words.ts"

const saddr = payload("ip", "saddr")
const at = { family: "inet", table: "t" }
const table = { add: { table: { family: "inet", name: "t" } } }
const sets = (...elem: ReadonlyArray<unknown>) => (type: unknown, more: Json = {}) => ({
  add: { set: { ...at, name: "s", type, ...more, elem } }
})

/** Objects that stand for themselves. */
export const declared: ReadonlyArray<ReadonlyArray<unknown>> = [
  [],
  [{ metainfo: { json_schema_version: 1, version: "1.0.6", release_name: "any" } }, table],
  [{ table: { family: "inet", name: "t", handle: 3 } }],
  [{ add: { table: { family: "inet", name: "t", comment: "of www.example.net" } } }],
  ...["dormant", "owner", ["dormant"]].map((flags) => [{ add: { table: { family: "inet", name: "t", flags } } }]),
  ...["a b", "t-1", "t.1", "1t", "é", "a\"b", "x".repeat(255), "x".repeat(256), ""].map((name) => [
    { add: { table: { family: "inet", name } } }
  ]),
  ...["filter", "mangle", -150, "srcnat", "raw", 2147483647].map((prio) => [table, {
    add: { chain: { ...at, name: "c", type: "filter", hook: "forward", prio, policy: "drop" } }
  }]),
  ...["filter", "nat", "route", "bridge"].flatMap((type) =>
    ["prerouting", "input", "forward", "output", "postrouting", "ingress"].map((hook) => [table, {
      add: { chain: { ...at, name: "c", type, hook, prio: 0 } }
    }])
  ),
  [table, sets("192.0.2.1", "192.0.2.2")("ipv4_addr", { comment: "why", policy: "memory", size: 20 })],
  [
    table,
    sets({ prefix: { addr: "192.0.2.0", len: 24 } }, { range: ["10.0.0.1", "10.0.0.9"] })("ipv4_addr", {
      flags: ["interval"]
    })
  ],
  [
    table,
    sets("192.0.2.1", { prefix: { addr: "192.0.2.0", len: 24 } })("ipv4_addr", {
      flags: ["interval"],
      "auto-merge": true
    })
  ],
  [
    table,
    sets({ elem: { val: "192.0.2.1", timeout: 60, expires: 30, comment: "x" } })("ipv4_addr", {
      flags: ["timeout"],
      timeout: 3600,
      "gc-interval": 10
    })
  ],
  [table, sets("2001:db8::1", "::")("ipv6_addr")],
  [table, sets(...macs)("ether_addr")],
  [table, sets("ssh", 80, { range: [1000, 2000] })("inet_service", { flags: "interval" })],
  [table, sets("eth0", "wlan*")("ifname")],
  [table, sets("tcp", 17)("inet_proto")],
  [table, sets("0x1", 2)("mark")],
  [table, sets({ concat: ["192.0.2.1", 80, "tcp"] })(["ipv4_addr", "inet_service", "inet_proto"])],
  [
    table,
    sets({ concat: ["192.0.2.1", { prefix: { addr: "10.0.0.0", len: 8 } }] })(["ipv4_addr", "ipv4_addr"], {
      flags: ["interval"]
    })
  ],
  [table, sets({ concat: ["eth0", "00:0f:54:0c:11:04"] })(["ifname", "ether_addr"])],
  [
    table,
    sets({ elem: { val: "192.0.2.1", counter: { packets: 1, bytes: 2 } } })("ipv4_addr", { stmt: [{ counter: null }] })
  ],
  [table, sets("192.0.2.1")({ typeof: saddr })],
  [table, sets("nonsense")("inet_service")],
  [table, sets()("no_such_type")],
  [table, sets("192.0.2.1", "192.0.2.1")("ipv4_addr")],
  ...[["mark", 1], ["inet_service", "ssh"], ["verdict", { accept: null }], ["ifname", "eth0"], ["counter", "k"], [
    "ether_addr",
    macs[0]
  ]]
    .map(([type, value]) => [table, { add: { counter: { ...at, name: "k" } } }, {
      add: { map: { ...at, name: "m", type: "ipv4_addr", map: type, elem: [["192.0.2.1", value]] } }
    }]),
  [table, {
    add: {
      map: {
        ...at,
        name: "m",
        type: "ifname",
        map: ["ipv4_addr", "inet_service"],
        elem: [["eth0", { concat: ["192.0.2.1", 80] }]]
      }
    }
  }],
  [table, {
    add: {
      map: {
        ...at,
        name: "m",
        type: "inet_service",
        map: "ipv4_addr",
        flags: ["interval"],
        elem: [[{ range: [1, 9] }, "192.0.2.1"]]
      }
    }
  }],
  [table, sets()("ipv4_addr"), { add: { element: { ...at, name: "s", elem: ["192.0.2.1", "192.0.2.2"] } } }],
  [table, { add: { element: { ...at, name: "absent", elem: ["192.0.2.1"] } } }],
  [table, { add: { flowtable: { ...at, name: "f", hook: "ingress", prio: 0, dev: ["lo"] } } }],
  [table, { add: { flowtable: { ...at, name: "f", hook: "ingress", prio: 0, dev: "absent0" } } }],
  [table, { add: { "ct helper": { ...at, name: "h", type: "no-such-helper", protocol: "tcp" } } }],
  [table, {
    add: { limit: { ...at, name: "l", rate: 10, rate_unit: "mbytes", per: "day", burst: 1, burst_unit: "kbytes" } }
  }],
  [table, { add: { limit: { ...at, name: "l", rate: -1, per: "fortnight" } } }],
  [{ add: { chain: { ...at, name: "c" } } }],
  [{ add: { table: { name: "t" } } }],
  [{ add: { table: { family: "ipx", name: "t" } } }],
  [{ add: { table: { family: "inet" } } }],
  [{ add: { table: { family: "inet", name: 5 } } }]
]
