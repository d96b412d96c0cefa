import { type Family, hex, ifaces, ip4, ip6, type Json, macs, numbers, payload, states, words } from "./words.ts"

const on: Readonly<Record<string, ReadonlyArray<Family>>> = {
  ip: ["ip", "inet", "bridge"],
  ip6: ["ip6", "inet", "netdev"],
  any: ["ip", "inet", "netdev"],
  arp: ["arp"],
  ether: ["bridge", "inet"]
}

const fields = (
  protocol: string,
  families: keyof typeof on,
  ...all: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]>
) => all.map(([field, values]) => [payload(protocol, field), values, on[families]!] as const)

const plain = (families: keyof typeof on, protocol: string, names: string) =>
  fields(protocol, families, ...names.split(" ").map((name) => [name, numbers] as const))

const transport = (name: string) => fields(name, "any", ["sport", ["ssh", "http", 53, "0x1f90"]], ["dport", numbers])

/** An expression, the constants that it may meet, and the families where it may stand. */
export type Meeting = readonly [left: unknown, values: ReadonlyArray<unknown>, families: ReadonlyArray<Family>]

const meta = (key: string, values: ReadonlyArray<unknown>): Meeting => [{ meta: { key } }, values, ["inet", "bridge"]]
const ct = (key: string, values: ReadonlyArray<unknown>, more: Json = {}): Meeting => [
  { ct: { key, ...more } },
  values,
  ["ip", "inet"]
]
const one = (kind: string, body: unknown, values: ReadonlyArray<unknown>, families = on["any"]!): Meeting => [
  { [kind]: body },
  values,
  families
]

export const expressions: ReadonlyArray<Meeting> = [
  ...fields("ether", "ether", ["saddr", macs], ["daddr", macs], ["type", words("ip", "arp", "ip6", "0x88cc")]),
  ...fields("vlan", "ether", ["id", numbers], ["pcp", [1, 2, 3, 4]], ["dei", [0, 1, 0, 1]], [
    "type",
    words("ip", "arp")
  ]),
  ...fields("arp", "arp", ["htype", numbers], ["ptype", words("ip", "0x0800")], ["hlen", numbers], ["plen", numbers]),
  ...fields("arp", "arp", ["operation", words("request", "reply", "rrequest", "nak")], ["saddr ip", ip4]),
  ...fields("arp", "arp", ["daddr ip", ip4], ["saddr ether", macs], ["daddr ether", macs]),
  ...plain("ip", "ip", "version hdrlength length id frag-off ttl checksum"),
  ...fields("ip", "ip", ["saddr", ip4], ["daddr", ip4], ["dscp", words("cs1", "af11", "ef", "0x38")]),
  ...fields("ip", "ip", ["ecn", words("ect1", "ce", "not-ect")], ["protocol", words("tcp", "udp", "icmp", "esp")]),
  ...plain("ip6", "ip6", "version flowlabel length hoplimit"),
  ...fields("ip6", "ip6", ["saddr", ip6], ["daddr", ip6], ["nexthdr", words("tcp", "udp", "ipv6-icmp", "esp")]),
  ...fields("icmp", "ip", ["type", words("echo-request", "echo-reply", "redirect", "time-exceeded")], [
    "code",
    numbers
  ]),
  ...plain("ip", "icmp", "checksum id sequence mtu gateway"),
  ...fields("icmpv6", "ip6", ["type", words("nd-neighbor-solicit", "echo-request", "mld-listener-query")]),
  ...plain("ip6", "icmpv6", "code checksum id sequence mtu parameter-problem max-delay"),
  ...fields("igmp", "ip", ["type", words("membership-query", "leave-group")], ["mrt", numbers], ["group", ip4]),
  ...["tcp", "udp", "udplite", "sctp", "dccp", "th"].flatMap(transport),
  ...plain("any", "tcp", "sequence ackseq doff window checksum urgptr"),
  ...fields("tcp", "any", ["flags", words("syn", "ack", "fin", "rst")]),
  ...plain("any", "udp", "length checksum"),
  ...plain("any", "sctp", "vtag checksum"),
  ...fields("dccp", "any", ["type", words("request", "response", "ack", "reset")]),
  ...plain("any", "ah", "hdrlength spi sequence"),
  ...plain("any", "esp", "spi sequence"),
  ...plain("any", "comp", "flags cpi"),
  ...plain("any", "vxlan", "vni flags"),
  ...plain("any", "gre", "version flags"),
  one("payload", { base: "nh", offset: 96, len: 32 }, hex),
  one("payload", { base: "ll", offset: 0, len: 48 }, hex, on["ether"]),
  one("payload", { base: "th", offset: 16, len: 16 }, numbers),
  meta("length", numbers),
  meta("protocol", words("ip", "ip6", "arp", "vlan")),
  meta("nfproto", words("ipv4", "ipv6")),
  meta("l4proto", ["tcp", "udp", 33, "ipv6-icmp"]),
  meta("priority", words("root", "none", "1:1234", "0x87654321")),
  meta("mark", hex),
  ...["iif", "oif"].map((key) => meta(key, ["lo", "lo", 1, "lo"])),
  ...["iifname", "oifname", "sdifname"].map((key) => meta(key, ifaces)),
  ...["iiftype", "oiftype"].map((key) => meta(key, words("ether", "loopback", "ppp"))),
  ...["ibrname", "obrname"].map((key) => meta(key, ifaces)),
  ...["skuid", "skgid"].map((key) => meta(key, ["root", 1000, "daemon", 3])),
  ...["cpu", "iifgroup", "oifgroup", "cgroup", "rtclassid", "ipsec", "random"].map((key) => meta(key, numbers)),
  meta("pkttype", words("broadcast", "unicast", "multicast")),
  meta("time", ["2026-06-21 17:00:00", "2026-07-04 12:00:00", 1750525200, "2026-12-24 00:00:00"]),
  meta("day", words("Monday", "Saturday")),
  meta("hour", words("17:00", "19:30", "08:15:30")),
  ct("state", states),
  ct("direction", words("original", "reply")),
  ct("status", words("expected", "seen-reply", "assured", "snat")),
  ...["mark", "secmark", "zone", "id", "label"].map((key) => ct(key, numbers)),
  ct("mark", hex),
  ct("expiration", ["30s", "1m", 233, "4d23h59m59s"]),
  ct("helper", words("ftp", "tftp")),
  ...["bytes", "packets", "avgpkt"].map((key) => ct(key, numbers, { dir: "original" })),
  ...["saddr", "daddr"].flatMap((
    key
  ) => [ct(`ip ${key}`, ip4, { dir: "original" }), ct(`ip6 ${key}`, ip6, { dir: "reply" })]),
  ...["saddr", "daddr"].map((key) => ct(key, ip4, { dir: "original" })),
  ...["proto-src", "proto-dst"].map((key) => ct(key, ["ssh", 80, 443, 53], { dir: "original" })),
  ct("protocol", words("tcp", "udp"), { dir: "reply" }),
  one("rt", { key: "classid" }, numbers),
  one("rt", { key: "nexthop", family: "ip" }, ip4),
  one("rt", { key: "nexthop", family: "ip6" }, ip6),
  one("rt", { key: "mtu" }, numbers),
  ...["nexthdr", "hdrlength"].map((field) => one("exthdr", { name: "hbh", field }, numbers, on["ip6"])),
  ...["nexthdr", "frag-off", "more-fragments", "id"].map((field) =>
    one("exthdr", { name: "frag", field }, numbers, on["ip6"])
  ),
  one("exthdr", { name: "rt", field: "type" }, numbers, on["ip6"]),
  one("exthdr", { name: "rt0", field: "addr[1]" }, ip6, on["ip6"]),
  one("exthdr", { name: "srh", field: "sid[1]" }, ip6, on["ip6"]),
  one("exthdr", { name: "mh", field: "type" }, words("binding-update", "careof-test-init"), on["ip6"]),
  one("exthdr", { name: "dst", field: "nexthdr" }, words("tcp", "udp"), on["ip6"]),
  ...["maxseg", "window", "sack-perm", "timestamp"].flatMap((name) =>
    ["kind", "length", "size", "count", "tsval"].map((field) => one("tcp option", { name, field }, numbers))
  ),
  one("ip option", { name: "rr", field: "addr" }, ip4, on["ip"]),
  one("ip option", { name: "lsrr", field: "type" }, numbers, on["ip"]),
  one("sctp chunk", { name: "data", field: "tsn" }, numbers),
  one("dccp option", { type: 4 }, numbers),
  one("osf", { key: "name", ttl: "loose" }, words("Linux", "Windows"), on["ip"]),
  one("osf", { key: "version" }, words("Linux:4.20"), on["ip"]),
  ...["transparent", "wildcard", "mark"].map((key) => one("socket", { key }, [0, 1, 0, 1])),
  one("numgen", { mode: "inc", mod: 100, offset: 0 }, numbers),
  one("numgen", { mode: "random", mod: 100 }, numbers),
  one("jhash", { mod: 100, seed: 3735928559, expr: payload("ip", "saddr") }, numbers, on["ip"]),
  one("symhash", { mod: 100 }, numbers),
  one("fib", { result: "type", flags: ["daddr"] }, words("local", "broadcast", "unicast", "blackhole")),
  one("fib", { result: "oif", flags: ["saddr", "iif"] }, ["lo", "lo", 1, "lo"]),
  one("fib", { result: "oifname", flags: ["saddr"] }, ifaces),
  one("ipsec", { dir: "in", key: "reqid" }, numbers),
  one("ipsec", { dir: "in", family: "ip", key: "saddr", spnum: 0 }, ip4),
  one("ipsec", { dir: "out", family: "ip6", key: "daddr", spnum: 0 }, ip6),
  one("&", [payload("ip", "saddr"), "255.255.255.0"], ["192.0.2.0", "198.51.100.0", "10.0.0.0", "10.1.0.0"], on["ip"]),
  one("&", [{ meta: { key: "mark" } }, "0xff"], hex),
  one("|", [{ ct: { key: "mark" } }, 1], numbers),
  one("^", [{ meta: { key: "mark" } }, "0x3"], hex),
  one("<<", [{ meta: { key: "mark" } }, 2], numbers),
  one(">>", [payload("tcp", "dport"), 2], numbers)
]
