import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, type Layer, Schema } from "effect"
import { FirewallEvent } from "../../src/schema/FirewallEvent.ts"
import { FirewallEvents } from "../../src/services/FirewallEvents.ts"

const now = Math.floor(Date.now() / 1000) * 1000
const decode = Schema.decodeUnknownSync(FirewallEvent)
const text = fc.constantFrom("", "eth0", "it's \\ \"quoted\"\t☃", "\\N")
const port = fc.option(fc.integer({ min: 0, max: 65_535 }), { nil: undefined })

const present = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""))

/** Events of the last hour; what is absent has no key. */
const event = fc.record({
  event_time: fc.nat(3_600_000).map((ms) => new Date(now - ms).toISOString()),
  action: fc.constantFrom("allow", "drop", "reject"),
  direction: fc.constantFrom("in", "out"),
  src_ip: fc.constantFrom("192.0.2.1", "2001:db8::1", "::1"),
  dst_ip: fc.constantFrom("198.51.100.7", "2001:db8::2"),
  protocol: fc.constantFrom("", "tcp", "udp"),
  src_port: port,
  dst_port: port,
  interface: text,
  rule: text,
  bytes: fc.option(fc.maxSafeNat(), { nil: undefined }),
  source: text
}).map((fields) => decode(present(fields)))

const sorted = (events: ReadonlyArray<FirewallEvent>) =>
  events.map((one) => JSON.stringify(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))).sort()

/**
 * What every implementation of `FirewallEvents` keeps; `stored` gives all it holds, and the layer is empty for each
 * run.
 */
export const firewallEventsContract = <R>(
  name: string,
  layer: Layer.Layer<FirewallEvents | R>,
  stored: Effect.Effect<ReadonlyArray<FirewallEvent>, never, R>,
  numRuns: number
) =>
  describe(`FirewallEvents contract: ${name}`, () => {
    it.effect.prop(
      "stores every event as it is, and a batch of one token once",
      [fc.array(fc.array(event, { maxLength: 8 }), { maxLength: 4 }), fc.array(fc.nat(3), { maxLength: 3 })],
      ([batches, again]) =>
        Effect.gen(function*() {
          const { append } = yield* FirewallEvents
          const send = (index: number, number: number) =>
            append({ number, events: batches[index] ?? [], deduplicationToken: `batch-${index}` })
          for (const index of batches.keys()) yield* send(index, index)
          for (const index of again) yield* send(index, index + 100)
          assert.deepStrictEqual(sorted(yield* stored), sorted(batches.flat()))
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns } }
    )

    it.effect("stores batches without a token each time, and keeps events for two weeks", () =>
      Effect.gen(function*() {
        const { append, retentionDays } = yield* FirewallEvents
        const [one] = fc.sample(event, { numRuns: 1, seed: 1 })
        yield* append({ number: 1, events: [one!] })
        yield* append({ number: 2, events: [one!] })
        assert.strictEqual((yield* stored).length, 2)
        assert.strictEqual(yield* retentionDays, 14)
      }).pipe(Effect.provide(layer)))
  })
