/** A configuration with 10 000 elements and a few rules, of which any two differ in both for different rounds. */
export const bigDraft = (round: number) => {
  const at = { family: "inet", table: "big" }
  const saddr = { payload: { protocol: "ip", field: "saddr" } }
  const network = 10 + round % 200
  const elem = Array.from({ length: 10_000 }, (_, n) => `${network}.0.${n >> 8}.${n & 255}`)
  return {
    name: "big",
    description: "",
    comment: String(network),
    ruleset: {
      nftables: [
        { add: { table: { family: "inet", name: "big" } } },
        { add: { set: { ...at, name: "s", type: "ipv4_addr", elem } } },
        { add: { chain: { ...at, name: "in", type: "filter", hook: "input", prio: 0, policy: "accept" } } },
        ...[`${network}.1.0.1`, "@s"].map((right) => ({
          add: { rule: { ...at, chain: "in", expr: [{ match: { op: "==", left: saddr, right } }, { drop: null }] } }
        }))
      ]
    }
  }
}
