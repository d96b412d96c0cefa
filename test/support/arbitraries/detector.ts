import { FastCheck as fc, Schema } from "effect"
import { type Detector, RuleDraft } from "../../../src/schema/AutomationRule.ts"
import { type DhcpEvent, messageTypes, protocols, requestTypes } from "../../../src/schema/DhcpEvent.ts"
import { dhcpEvent, mac } from "./dhcpEvent.ts"
import { filterJson } from "./filter.ts"

/** Length of the traffic that `traffic` makes, in milliseconds. */
export const trafficLength = 3_600_000

const client = fc.oneof(
  fc.constantFrom(
    { client_mac: "02:bd:00:00:00:01" },
    { client_mac: "00:0c:01:00:00:02", duid: "00030001000c01000002" },
    { client_mac: "00:0c:01:00:00:02", duid: "000200000009aabb" },
    { client_mac: "aa:bb:cc:00:00:03" },
    { duid: "aabbcc000004" },
    { duid: "0004ffeeddcc" }
  ),
  fc.constant({ client_mac: "00:0c:01:00:00:02" })
)
const offset = fc.oneof(
  fc.constantFrom(0, 1, trafficLength - 1, trafficLength),
  fc.integer({ min: 0, max: trafficLength })
)
const address = fc.constantFrom(
  "192.0.2.1",
  "192.0.2.2",
  "192.0.2.129",
  "10.0.0.1",
  "2001:db8::1",
  "2001:db8:1::1",
  "::102:304",
  "::",
  "0.0.0.0",
  undefined,
  undefined,
  undefined
)

const event = fc.tuple(
  dhcpEvent,
  client,
  fc.constantFrom(...protocols).chain((protocol) =>
    fc.tuple(
      fc.constant(protocol),
      fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(...requestTypes[protocol]) },
        { weight: 1, arbitrary: fc.constantFrom(...messageTypes) }
      )
    )
  ),
  fc.record({ assigned_ip: address, client_ip: address, requested_ip: address, relay_ip: address }),
  offset
).map(([event, client, [protocol, message_type], addresses, offset]) => ({
  ...event,
  client_mac: undefined,
  duid: undefined,
  ...addresses,
  ...client,
  protocol,
  message_type,
  event_time: new Date(offset).toISOString()
})).map((event) =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined)) as unknown as DhcpEvent
)

/** Events of few clients, of which some send much, within `trafficLength` of the epoch, both ends included. */
export const traffic = fc.oneof(
  { weight: 1, arbitrary: fc.array(event, { minLength: 1, maxLength: 100 }) },
  { weight: 3, arbitrary: fc.array(event, { minLength: 200, maxLength: 250, size: "max" }) }
)

const count = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 20, max: 30 }))
const threshold = fc.record(
  { min_requests: count, min_unique_ips: fc.integer({ min: 1, max: 5 }), operator: fc.constantFrom("and", "or") },
  { requiredKeys: [] }
).filter(({ min_requests, min_unique_ips }) => min_requests !== undefined || min_unique_ips !== undefined)

const knownMacs = fc.constantFrom("02:bd:00:00:00:01", "00:0c:01:00:00:02", "aa:bb:cc:00:00:03")
const exclude = fc.record({
  macs: fc.array(fc.oneof(knownMacs, mac), { maxLength: 2 }),
  ouis: fc.array(fc.constantFrom("02:bd:00", "00:0c:01", "aa:bb:cc", "11:22:33"), { maxLength: 1 }),
  subnets: fc.array(
    fc.constantFrom("192.0.2.128/25", "192.0.2.2/32", "10.0.0.0/8", "2001:db8:1::/48", "::/32", "0.0.0.0/0", "::/0"),
    { maxLength: 2 }
  ),
  randomized: fc.boolean()
}, { requiredKeys: [] })

const simpleFilter = fc.constantFrom(
  { rules: [] },
  { rules: [{ field: "client_mac", op: "exists" }] },
  { rules: [{ field: "assigned_ip", op: "exists", negate: true }] },
  { rules: [{ field: "lease_seconds", op: "gte", value: 59 }] }
)

const decode = Schema.decodeUnknownOption(RuleDraft)

/** Rules by what decides their detections; thresholds are such that `traffic` reaches them now and then. */
export const detector: fc.Arbitrary<Detector> = fc.record({
  name: fc.constant("any"),
  protocol: fc.constantFrom(...protocols, "both"),
  threshold,
  message_types: fc.oneof(
    fc.uniqueArray(fc.constantFrom(...messageTypes), { minLength: 1, maxLength: 18 }),
    fc.constantFrom(["request"], ["discover", "request"], ["offer", "ack", "reply", "advertise"])
  ),
  filter: fc.oneof({ weight: 3, arbitrary: simpleFilter }, { weight: 1, arbitrary: filterJson }),
  exclude,
  max_detections: fc.constantFrom(1, 2, 1000)
}, { requiredKeys: ["name", "threshold"] })
  .map((json) => decode(json))
  .filter((decoded) => decoded._tag === "Some")
  .map(({ value: { exclude, filter, max_detections, message_types, protocol, threshold } }) => ({
    protocol,
    threshold,
    message_types,
    filter,
    exclude,
    max_detections
  }))

/** Start and end of a window around the traffic, in milliseconds from its start; often at an event's own time. */
export const windowOffsets = fc.oneof(
  fc.constant([-1, trafficLength] as const),
  fc.tuple(offset, offset).map(([a, b]) => [Math.min(a, b) - 1, Math.max(a, b)] as const),
  fc.tuple(offset, offset).filter(([a, b]) => a < b)
)
