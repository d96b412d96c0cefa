import { Schema } from "effect"
import { Ip } from "./Ip.ts"
import { Instant } from "./Time.ts"

const name = (description: string) =>
  Schema.optionalWith(
    Schema.String.pipe(Schema.pattern(/^[^\p{Surrogate}\0]{0,256}$/u)).annotations({ description }),
    { exact: true }
  )
const port = (description: string) =>
  Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 65_535)).annotations({ description }), { exact: true })

/** One decision that a firewall logged. */
export const FirewallEvent = Schema.Struct({
  event_time: Instant,
  action: Schema.Literal("allow", "drop", "reject"),
  direction: Schema.Literal("in", "out"),
  src_ip: Ip,
  dst_ip: Ip,
  protocol: name("transport protocol, such as tcp"),
  src_port: port("source port"),
  dst_port: port("destination port"),
  interface: name("interface that the packet came in or went out by"),
  rule: name("rule that decided"),
  bytes: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(0, Number.MAX_SAFE_INTEGER)).annotations({ description: "octets" }),
    { exact: true }
  ),
  source: name("firewall that logged it")
}).annotations({ identifier: "FirewallEvent" })
export type FirewallEvent = typeof FirewallEvent.Type
