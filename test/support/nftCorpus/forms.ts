import type { Meeting } from "./expressions.ts"
import { match, payload } from "./words.ts"

/** Every form in which constants meet an expression. */
export const forms = ([left, [a, b, c, d]]: Meeting): ReadonlyArray<ReadonlyArray<unknown>> => {
  const isAddress = typeof a === "string" && /^(?:\d+\.|2001:)/.test(a)
  return [
    [match(left, a)],
    [match(left, b, "!=")],
    [match(left, a, ">")],
    [match(left, { range: [a, b] })],
    [match(left, { range: [a, b] }, "!=")],
    [match(left, { set: [a, c] })],
    [match(left, { set: [a, { range: [b, c] }, d] }, "!=")],
    [match(left, { set: [{ elem: { val: a, comment: "why" } }, d] })],
    [match(left, [a, b], "in")],
    ...isAddress
      ? [[match(left, { prefix: { addr: a, len: 24 } })], [match(left, { set: [{ prefix: { addr: c, len: 25 } }] })]]
      : [],
    [match({ concat: [left, payload("tcp", "dport")] }, {
      set: [{ concat: [a, 80] }, { concat: [c, { range: [1, 9] }] }]
    })],
    [match({ concat: [{ meta: { key: "iifname" } }, left] }, { concat: ["eth0", a] })],
    [{
      vmap: { key: left, data: { set: [[a, { accept: null }], [{ range: [b, c] }, { jump: { target: "side" } }]] } }
    }],
    [{
      mangle: { key: { meta: { key: "mark" } }, value: { map: { key: left, data: { set: [[a, 1], [c, "0x2"]] } } } }
    }],
    [{ dnat: { addr: { map: { key: left, data: { set: [[a, "192.0.2.3"], [c, "198.51.100.4"]] } } }, family: "ip" } }],
    [{ mangle: { key: left, value: a } }],
    [{
      mangle: {
        key: left,
        value: { map: { key: { meta: { key: "iifname" } }, data: { set: [["eth0", a], ["eth1", d]] } } }
      }
    }],
    [{ set: { op: "add", elem: left, set: "@dynamic" } }],
    [{ set: { op: "update", elem: { elem: { val: left, timeout: 60 } }, set: "@dynamic", stmt: [{ counter: null }] } }],
    [{ meter: { name: "m", key: left, stmt: { limit: { rate: 10, per: "second" } } } }]
  ]
}
