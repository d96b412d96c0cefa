import { DateTime, Effect, Layer, Option } from "effect"
import type { Delivery, DeliveryId } from "../../src/schema/Delivery.ts"
import { DeliveryDone, DeliveryMissing, Outbox, type StoredGroup } from "../../src/services/Outbox.ts"
import type { EventPosition } from "../../src/services/ServiceEvents.ts"
import { newestOf } from "./AutomationState.ts"

const placeOf = ({ key, rule }: Pick<StoredGroup, "rule" | "key">) => `${rule} ${key}`
const homeOf = ({ group_key, rule_id }: Delivery) => `${rule_id} ${group_key}`

export const OutboxMemory = Layer.sync(Outbox, () => {
  let position: EventPosition | undefined
  const groups = new Map<string, StoredGroup>()
  const deliveries = new Map<DeliveryId, Delivery>()
  const change = (ids: ReadonlyArray<DeliveryId>, edit: (delivery: Delivery) => Delivery) =>
    Effect.sync(() => {
      for (const id of ids) {
        const delivery = deliveries.get(id)
        if (delivery?.status === "pending") deliveries.set(id, edit(delivery))
      }
    })
  const pending = () => [...deliveries.values()].filter(({ status }) => status === "pending")

  return Outbox.of({
    begin: Effect.sync(() => Option.some({ position })),
    groups: ({ alerts, dueAt, keys }) =>
      Effect.sync(() =>
        [...groups.values()].filter(({ group, key, rule }) =>
          group.flushAt <= DateTime.toEpochMillis(dueAt) ||
          keys.some(([of, asked]) => of === rule && asked === key) ||
          alerts.some(([of, alert]) => of === rule && alert in group.active)
        ).sort((a, b) => placeOf(a) < placeOf(b) ? -1 : 1)
      ),
    save: (step) =>
      Effect.sync(() => {
        position = step.position
        for (const gone of step.over) groups.delete(placeOf(gone))
        for (const stored of step.groups) groups.set(placeOf(stored), stored)
        for (const delivery of step.deliveries) deliveries.set(delivery.id, delivery)
      }),
    claim: ({ at, limit, readyBefore, until }) =>
      Effect.sync(() => {
        const waiting = new Set(
          pending().filter(({ next_attempt_at }) => DateTime.greaterThan(next_attempt_at, at)).map(homeOf)
        )
        const ready = pending().filter((delivery) => !waiting.has(homeOf(delivery))).slice(0, limit)
        const due = ready.length >= limit ||
          ready.some(({ attempts, created_at }) => attempts > 0 || DateTime.lessThanOrEqualTo(created_at, readyBefore))
        if (!due) return []
        return ready.map((delivery) => {
          const claimed = { ...delivery, next_attempt_at: until }
          deliveries.set(delivery.id, claimed)
          return claimed
        })
      }),
    delivered: (ids, at) =>
      change(ids, (delivery) => ({
        ...delivery,
        status: "delivered",
        delivered_at: at,
        attempts: delivery.attempts + 1,
        last_error: ""
      })),
    failed: (failures, error, triesMax) =>
      Effect.forEach(failures, ({ id, next }) =>
        change([id], (delivery) => ({
          ...delivery,
          attempts: delivery.attempts + 1,
          last_error: error,
          next_attempt_at: next,
          status: delivery.attempts + 1 >= triesMax ? "dead" : "pending"
        })), { discard: true }),
    release: (ids, at) => change(ids, (delivery) => ({ ...delivery, next_attempt_at: at })),
    hasten: (at) =>
      change(
        pending().filter(({ attempts, next_attempt_at }) => attempts > 0 && DateTime.greaterThan(next_attempt_at, at))
          .map(({ id }) => id),
        (delivery) => ({ ...delivery, next_attempt_at: at })
      ),
    list: ({ hidden, rule_id, status, ...request }) =>
      Effect.suspend(() =>
        newestOf(
          [...deliveries.values()].filter((delivery) =>
            (status === undefined || delivery.status === status) &&
            (rule_id === undefined || delivery.rule_id === rule_id) && !hidden?.includes(delivery.event.type)
          ),
          request,
          ({ created_at, id }) => ({ at: created_at, id })
        )
      ),
    retry: (id, at) =>
      Effect.suspend((): Effect.Effect<Delivery, DeliveryMissing | DeliveryDone> => {
        const delivery = deliveries.get(id)
        if (delivery === undefined) return Effect.fail(new DeliveryMissing({ id }))
        if (delivery.status === "delivered") return Effect.fail(new DeliveryDone({ id }))
        const attempts = delivery.status === "pending" ? delivery.attempts : 0
        const again = { ...delivery, status: "pending" as const, attempts, next_attempt_at: at }
        deliveries.set(id, again)
        return Effect.succeed(again)
      }),
    counts: Effect.sync(() => {
      const of = (wanted: string) => [...deliveries.values()].filter(({ status }) => status === wanted).length
      return { queued: of("pending"), delivered: of("delivered"), dead: of("dead"), dropped: of("dropped") }
    }),
    tidy: (before, queuedMax) =>
      Effect.sync(() => {
        for (const [id, { created_at, status }] of deliveries) {
          if (status !== "pending" && DateTime.lessThan(created_at, before)) deliveries.delete(id)
        }
        const queued = pending()
        for (const delivery of queued.slice(0, Math.max(0, queued.length - queuedMax))) {
          deliveries.set(delivery.id, { ...delivery, status: "dropped", last_error: "the outbox was full" })
        }
      })
  })
})
