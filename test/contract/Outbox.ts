import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { type Delivery, DeliveryId } from "../../src/schema/Delivery.ts"
import { NotificationRuleId } from "../../src/schema/NotificationRule.ts"
import { serviceEvent } from "../../src/schema/ServiceEvent.ts"
import { Outbox } from "../../src/services/Outbox.ts"
import { OutboxMemory } from "../layers/OutboxMemory.ts"

const at = (second: number) => DateTime.unsafeMake(3_979_000_000_000 + second * 1000)
const rule = NotificationRuleId.make("7d4c1a0e-0000-4000-8000-0000000000aa")

const delivery = (group: string, second: number, number: number): Delivery => {
  const id = DeliveryId.make(randomUUID())
  return {
    id,
    rule_id: rule,
    group_key: group,
    status: "pending",
    reason: "new",
    event: serviceEvent(randomUUID(), {
      type: "notification.test",
      subject: `s/${number}`,
      severity: "info",
      time: at(second),
      data: { message: "it's \\ \"fine\" 😀" }
    }),
    notification: {
      delivery_id: id,
      rule_id: rule,
      rule_name: "r",
      group: { client: "a" },
      reason: "new",
      state: "event",
      sequence: 1
    },
    attempts: 0,
    last_error: "",
    created_at: at(second),
    next_attempt_at: at(second),
    delivered_at: null
  }
}

const nth = fc.nat(9)
const command = fc.oneof(
  fc.record({ kind: fc.constant("save" as const), groups: fc.array(fc.constantFrom("g", "h"), { maxLength: 3 }) }),
  fc.record({
    kind: fc.constant("claim" as const),
    limit: fc.integer({ min: 1, max: 4 }),
    age: fc.nat(3),
    lease: fc.nat(4)
  }),
  fc.record({ kind: fc.constant("delivered" as const), nth }),
  fc.record({ kind: fc.constant("failed" as const), nth, wait: fc.nat(5) }),
  fc.record({ kind: fc.constant("release" as const), nth }),
  fc.record({ kind: fc.constant("retry" as const), nth }),
  fc.record({ kind: fc.constant("hasten" as const) }),
  fc.record({ kind: fc.constant("tidy" as const), age: fc.nat(20), most: fc.integer({ min: 1, max: 4 }) })
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

/** Plays a script, a second a step, and gives what could be seen of it. */
const play = Effect.fnUntraced(function*(script: ReadonlyArray<Command>) {
  const outbox = yield* Outbox
  const made: Array<DeliveryId> = []
  const number = (id: DeliveryId) => made.indexOf(id)
  const shown = ({ attempts, delivered_at, id, last_error, next_attempt_at, status }: Delivery) =>
    [number(id), status, attempts, last_error, DateTime.toEpochMillis(next_attempt_at), String(delivered_at)].join(" ")
  const perform = Effect.fnUntraced(function*(each: Command, second: number) {
    const chosen = "nth" in each ? made.slice(each.nth, each.nth + 1) : []
    switch (each.kind) {
      case "save": {
        const deliveries = each.groups.map((group, index) => delivery(group, second, index))
        made.push(...deliveries.map(({ id }) => id))
        return yield* outbox.save({ position: undefined, groups: [], over: [], deliveries })
      }
      case "claim":
        return (yield* outbox.claim({
          at: at(second),
          limit: each.limit,
          readyBefore: at(second - each.age),
          until: at(second + each.lease)
        })).map(shown)
      case "delivered":
        return yield* outbox.delivered(chosen, at(second))
      case "failed":
        return yield* outbox.failed(chosen.map((id) => ({ id, next: at(second + each.wait) })), "refused", 2)
      case "release":
        return yield* outbox.release(chosen, at(second))
      case "retry":
        return shown(yield* outbox.retry(chosen[0] ?? DeliveryId.make(randomUUID()), at(second)))
      case "hasten":
        return yield* outbox.hasten(at(second))
      case "tidy":
        return yield* outbox.tidy(at(second - each.age), each.most)
    }
  })
  const seen: Array<unknown> = []
  for (const [second, each] of script.entries()) {
    seen.push(
      each.kind,
      yield* Effect.match(perform(each, second), {
        onFailure: ({ _tag }): unknown => _tag,
        onSuccess: (answer): unknown => answer ?? null
      })
    )
    const { items } = yield* outbox.list({ limit: 1000, rule_id: rule })
    seen.push(items.map(shown).sort(), yield* outbox.counts)
  }
  return seen
})

/** What every implementation of `Outbox` keeps; it starts empty for each script. */
export const outboxContract = (
  name: string,
  layer: Layer.Layer<Outbox>,
  empty: Effect.Effect<void, never, Outbox>,
  numRuns: number
) =>
  describe(`Outbox contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "whatever is done in turn, it answers as its twin in memory",
        [fc.array(command, { minLength: 1, maxLength: 20 })],
        ([script]) =>
          Effect.gen(function*() {
            yield* empty
            const expected = yield* Effect.provide(play(script), Layer.fresh(OutboxMemory))
            assert.deepStrictEqual(yield* play(script), expected)
          }),
        { fastCheck: { numRuns, endOnFailure: true } }
      )

      it.effect("deliveries of a group are claimed in order, and none behind one that waits", () =>
        Effect.gen(function*() {
          yield* empty
          const outbox = yield* Outbox
          const deliveries = ["g", "h", "g", "h", "g"].map((group, index) => delivery(group, 0, index))
          yield* outbox.save({ position: undefined, groups: [], over: [], deliveries })
          const claim = (second: number, limit: number) =>
            outbox.claim({ at: at(second), limit, readyBefore: at(second), until: at(second + 10) })
          const subjects = (claimed: ReadonlyArray<Delivery>) => claimed.map(({ event }) => event.subject)
          assert.deepStrictEqual(subjects(yield* claim(1, 1)), ["s/0"])
          assert.deepStrictEqual(subjects(yield* claim(2, 9)), ["s/1", "s/3"])
          assert.deepStrictEqual(subjects(yield* claim(3, 9)), [])
          yield* outbox.delivered([deliveries[0]!.id], at(4))
          assert.deepStrictEqual(subjects(yield* claim(5, 9)), ["s/2", "s/4"])
        }))
    })
  })
