import { DateTime, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import type { Alarm, AlarmId } from "../../src/schema/Alarm.ts"
import { alarmEvents } from "../../src/services/alarmEvents.ts"
import { acknowledge, type AlarmChange, observe, recentSince, resolve } from "../../src/services/AlarmRules.ts"
import { AlarmMissing, type AlarmQuery, AlarmResolved, Alarms } from "../../src/services/Alarms.ts"
import { conditionAlarm } from "../../src/services/ConditionAlarm.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"
import { ServiceEventsMemory } from "./ServiceEventsMemory.ts"

const asks = ({ client, end, kind, rule_id, severity, start, status }: AlarmQuery) => (alarm: Alarm) =>
  (kind === undefined || alarm.kind === kind) &&
  (status === undefined || alarm.status === status) && (rule_id === undefined || alarm.rule_id === rule_id) &&
  (client === undefined || alarm.client === client) && (severity === undefined || alarm.severity === severity) &&
  (start === undefined || alarm.resolved_at === null || DateTime.greaterThanOrEqualTo(alarm.resolved_at, start)) &&
  (end === undefined || DateTime.lessThanOrEqualTo(alarm.opened_at, end))

export const AlarmsMemory = Layer.effect(
  Alarms,
  Effect.map(Effect.all([AutomationState, ServiceEvents]), ([{ alarms, rules, transitions }, events]) => {
    let batch = 0
    const write = (change: AlarmChange) => {
      for (const alarm of change.alarms) alarms.set(alarm.id, alarm)
      transitions.push(...change.transitions)
      return Effect.as(events.publish(alarmEvents(change)), change.alarms[0]!)
    }
    const find = (id: AlarmId) =>
      Effect.suspend(() => {
        const alarm = alarms.get(id)
        return alarm === undefined ? Effect.fail(new AlarmMissing({ id })) : Effect.succeed(alarm)
      })

    return Alarms.of({
      get: find,
      list: (query) =>
        Effect.suspend(() =>
          newestOf([...alarms.values()].filter(asks(query)), query, ({ id, opened_at }) => ({ at: opened_at, id }))
        ),
      observe: (observation) =>
        Effect.suspend(() => {
          const { rule } = observation
          if (!rules.has(rule.id)) return Effect.void
          const recent = recentSince(observation)
          const known = [...alarms.values()].filter(({ resolved_at, rule_id }) =>
            rule_id === rule.id && (resolved_at === null || DateTime.greaterThan(resolved_at, recent))
          )
          return Effect.asVoid(write(observe(known, observation, randomUUID)))
        }),
      note: (condition) =>
        Effect.gen(function*() {
          const open = [...alarms.values()].find(({ client, kind, status }) =>
            kind === condition.kind && client === condition.subject && status !== "resolved"
          )
          const change = conditionAlarm(open, condition, randomUUID)
          yield* write(change)
          return change.transitions[0]
        }),
      acknowledge: (id, move) =>
        Effect.flatMap(find(id), (alarm): Effect.Effect<Alarm, AlarmResolved> =>
          alarm.status === "resolved"
            ? Effect.fail(new AlarmResolved({ id }))
            : write(acknowledge(alarm, move, randomUUID))),
      resolve: (id, move) =>
        Effect.flatMap(
          find(id),
          (alarm) => alarm.status === "resolved" ? Effect.succeed(alarm) : write(resolve(alarm, move, randomUUID))
        ),
      resolveOrphans: (at) =>
        Effect.gen(function*() {
          for (const alarm of [...alarms.values()]) {
            if (alarm.status === "resolved" || alarm.rule_id === null || rules.has(alarm.rule_id)) continue
            yield* write(resolve(alarm, { by: null, at, requestId: "", comment: "the rule was deleted" }, randomUUID))
          }
        }),
      tell: (hand) =>
        Effect.suspend(() => {
          const told = transitions.slice(0, 1000)
          if (told.length === 0) return Effect.succeed(0)
          return Effect.map(hand(`alarm-transitions-${batch}`, told), () => {
            batch++
            transitions.splice(0, told.length)
            return told.length
          })
        })
    })
  })
).pipe(Layer.provide([AutomationStateMemory, ServiceEventsMemory]))
