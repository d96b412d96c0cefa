import { Clock, Context, DateTime, Effect, Layer, Option } from "effect"
import { type Delivery, DeliveryId } from "../../schema/Delivery.ts"
import type { NotificationRule } from "../../schema/NotificationRule.ts"
import { isAtLeast, momentOf, type ServiceEvent } from "../../schema/ServiceEvent.ts"
import { compileEventPredicate } from "../EventPredicate.ts"
import { Ids } from "../Ids.ts"
import { LogPipelineChannel } from "../LogPipelineChannel.ts"
import { NotificationRules, Silences } from "../NotificationRules.ts"
import { Outbox, type StoredGroup } from "../Outbox.ts"
import { ServiceEvents } from "../ServiceEvents.ts"
import { UnitOfWork } from "../UnitOfWork.ts"
import { add, alertKeyOf, emptyGroup, flush, groupKeyOf, labelsOf } from "./groups.ts"

/** Events that one step takes in at most. */
const eventsMax = 500

/** What of a rule or a channel chooses events. */
type Choice = Pick<NotificationRule, "event_types" | "min_severity" | "matchers">

/** Whether a rule takes an event by itself. */
export const takes = ({ event_types, matchers, min_severity }: Choice): (event: ServiceEvent) => boolean => {
  const types = new Set<string>(event_types)
  const matches = matchers === undefined ? () => true : compileEventPredicate(matchers)
  return (event) =>
    (types.size === 0 || types.has(event.type)) && isAtLeast(event.severity, min_severity) && matches(event)
}

/** Takes events into the groups of the rules and makes deliveries of those that are due. */
export class Dispatcher extends Context.Tag("services/Dispatcher")<
  Dispatcher,
  {
    /** One step, all of it or nothing; whether there is more to take in at once. */
    readonly step: Effect.Effect<boolean>
  }
>() {}

export const DispatcherLive = Layer.effect(
  Dispatcher,
  Effect.gen(function*() {
    const events = yield* ServiceEvents
    const rules = yield* NotificationRules
    const silences = yield* Silences
    const channel = yield* LogPipelineChannel
    const outbox = yield* Outbox
    const unit = yield* UnitOfWork
    const ids = yield* Ids
    const compiled = new Map<string, (event: ServiceEvent) => boolean>()

    const takesOf = (rule: NotificationRule) => {
      const name = `${rule.id} ${rule.revision}`
      const known = compiled.get(name)
      if (known !== undefined) return known
      if (compiled.size > 10_000) compiled.clear()
      const test = takes(rule)
      compiled.set(name, test)
      return test
    }

    const deliveryOf = (
      rule: NotificationRule,
      { group, key }: StoredGroup,
      { event, reason }: { readonly event: ServiceEvent; readonly reason: "new" | "repeat" },
      at: DateTime.Utc
    ) =>
      Effect.map(ids.uuid, (uuid): Delivery => {
        const id = DeliveryId.make(uuid)
        return {
          id,
          rule_id: rule.id,
          group_key: key,
          status: "pending",
          reason,
          event,
          notification: {
            delivery_id: id,
            rule_id: rule.id,
            rule_name: rule.name,
            group: group.labels,
            reason,
            state: momentOf(event.type).state,
            sequence: group.sequence + 1
          },
          attempts: 0,
          last_error: "",
          created_at: at,
          next_attempt_at: at,
          delivered_at: null
        }
      })

    const step = Effect.gen(function*() {
      const begun = yield* outbox.begin
      if (Option.isNone(begun)) return false
      const now = yield* Clock.currentTimeMillis
      const at = DateTime.unsafeMake(now)
      const enabled = yield* rules.enabled
      const muting = (yield* silences.active(at)).map(({ matchers }) => compileEventPredicate(matchers))
      const isMuted = (event: ServiceEvent) => muting.some((matches) => matches(event))
      const applied = Option.getOrUndefined(yield* channel.current)
      const accepts = applied === undefined ? () => true : takes({ ...applied.settings, matchers: undefined })
      const found = yield* events.read(begun.value.position, eventsMax)

      const wanted = found.filter(({ event }) => accepts(event)).flatMap(({ event }) =>
        enabled.map((rule) => {
          const labels = labelsOf(rule, event)
          return { rule, event, labels, key: groupKeyOf(labels), taken: takesOf(rule)(event) }
        })
      )
      const held = yield* outbox.groups({
        dueAt: at,
        keys: wanted.filter(({ taken }) => taken).map(({ key, rule }) => [rule.id, key] as const),
        alerts: wanted.filter(({ event }) => momentOf(event.type).state === "resolved")
          .map(({ event, rule }) => [rule.id, alertKeyOf(event)] as const)
      })
      const groups = new Map(held.map((stored) => [`${stored.rule} ${stored.key}`, stored]))
      const changed = new Set<string>()
      for (const { event, key, labels, rule, taken } of wanted) {
        // An alert ends in the group in which it began, whatever the rule says of its end.
        const home = momentOf(event.type).state !== "resolved" ?
          undefined :
          [...groups.values()].find((stored) => stored.rule === rule.id && alertKeyOf(event) in stored.group.active)
        if (home === undefined && !taken) continue
        const place = `${rule.id} ${home?.key ?? key}`
        const stored = groups.get(place) ?? { rule: rule.id, key, group: emptyGroup(labels, rule, now) }
        groups.set(place, { ...stored, group: add(stored.group, event, now) })
        changed.add(place)
      }

      const deliveries: Array<Delivery> = []
      const over: Array<Pick<StoredGroup, "rule" | "key">> = []
      for (const [place, stored] of groups) {
        if (stored.group.flushAt > now) continue
        const rule = enabled.find(({ id }) => id === stored.rule)
        changed.delete(place)
        if (rule === undefined) {
          over.push(stored)
          continue
        }
        const active = Object.fromEntries(
          Object.entries(stored.group.active).filter(([, { event }]) => takesOf(rule)(event))
        )
        const { group, sent } = flush({ ...stored.group, active }, rule, isMuted, now)
        for (const sending of sent) deliveries.push(yield* deliveryOf(rule, stored, sending, at))
        if (group === undefined) over.push(stored)
        else {
          groups.set(place, { ...stored, group })
          changed.add(place)
        }
      }
      yield* outbox.save({
        position: found.at(-1)?.position ?? begun.value.position,
        groups: [...changed].map((place) => groups.get(place)!),
        over,
        deliveries
      })
      return found.length === eventsMax
    })

    return Dispatcher.of({ step: Effect.withSpan(unit.transaction(step), "Dispatcher.step") })
  })
)
