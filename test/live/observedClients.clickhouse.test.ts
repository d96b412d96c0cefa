import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import { ObservedClientsClickHouse } from "../../src/layers/clickhouse/ObservedClientsClickHouse.ts"
import { BulkCriteria } from "../../src/schema/BulkCriteria.ts"
import { bulkFilter } from "../../src/services/bulkFilter.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { ObservedClients } from "../../src/services/ObservedClients.ts"
import { DhcpEventsMemory, EventMemory } from "../layers/DhcpEventsMemory.ts"
import { ObservedClientsMemory } from "../layers/ObservedClientsMemory.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { filterJson } from "../support/arbitraries/filter.ts"
import { ClickHouseTest } from "../support/engines.ts"

const sampled = fc.sample(dhcpEvent, { numRuns: 400, seed: 20_261_122 })
// several events of each client, so that counting matters
const events = [...sampled, ...sampled.slice(0, 200).map((event, index) => ({ ...sampled[index % 50]!, ...event }))]

const Stored = Layer.effectDiscard(
  Effect.flatMap(
    ClickHouse,
    (clickhouse) => clickhouse.insert({ table: "dhcp_events", rows: events.map((event, row) => toRow(event, 7, row)) })
  )
)
const Real = ObservedClientsClickHouse.pipe(Layer.provide(Stored), Layer.provide(ClickHouseTest))

const inMemory = Layer.effectDiscard(
  Effect.flatMap(DhcpEvents, (store) => store.append({ number: 7, events }))
).pipe(Layer.provide(DhcpEventsMemory), Layer.merge(ObservedClientsMemory), Layer.provide(EventMemory.layer))

const known = <A>(pick: (event: (typeof events)[number]) => A | undefined) => {
  const values = events.map(pick).filter((value) => value !== undefined)
  return fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 60 })
}
const maybe = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined, freq: 3 })
const valid = (text: string | undefined) => text !== undefined && /^[^\0\p{Cs}]{1,255}$/u.test(text) ? text : undefined

const criteria = fc.record({
  macs: maybe(known(({ client_mac }) => client_mac as string | undefined)),
  mac_prefixes: maybe(known(({ client_mac }) => client_mac?.slice(0, 11))),
  duids: maybe(known(({ duid }) => duid as string | undefined)),
  protocol: maybe(fc.constantFrom("dhcpv4", "dhcpv6")),
  seen_since: maybe(fc.constantFrom(...events.map(({ event_time }) => event_time))),
  seen_before: maybe(fc.constantFrom(...events.map(({ event_time }) => event_time))),
  min_requests: maybe(fc.integer({ min: 1, max: 3 })),
  subnets: maybe(fc.constantFrom(["192.0.2.0/24"], ["0.0.0.0/0"], ["2001:db8::/32", "10.0.0.0/8"])),
  hostnames: maybe(known(({ hostname }) => valid(hostname))),
  vendor_classes: maybe(known(({ vendor_class }) => valid(vendor_class))),
  filter: maybe(filterJson.filter(({ rules }) => rules.length > 0))
}).map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))

layer(Real, { timeout: "2 minutes" })("observed clients", (it) => {
  it.effect.prop(
    "are chosen by ClickHouse as in memory",
    [criteria, fc.boolean(), fc.constantFrom(5, 10_000)],
    ([json, withoutMac, limit]) =>
      Effect.gen(function*() {
        const decoded = Schema.decodeUnknownSync(BulkCriteria)(Object.keys(json).length === 0 ? { all: true } : json)
        const query = {
          events: bulkFilter(decoded, undefined),
          minRequests: decoded.min_requests,
          withoutMac,
          limit
        }
        const found = yield* (yield* ObservedClients).match(query)
        const expected = yield* Effect.provide(
          Effect.flatMap(ObservedClients, (twin) => twin.match(query)),
          inMemory
        )
        assert.deepStrictEqual(found, expected)
      }),
    { fastCheck: { numRuns: 60 } }
  )
})
