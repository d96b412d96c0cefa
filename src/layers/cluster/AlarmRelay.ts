import { DateTime, Effect, Schedule, Schema } from "effect"
import { AlarmTransition } from "../../schema/Alarm.ts"
import { Alarms } from "../../services/Alarms.ts"
import { ClickHouse } from "../clickhouse/ClickHouse.ts"
import { sqlTime } from "../clickhouse/SqlParams.ts"
import { singleton } from "./singleton.ts"

const encode = Schema.encodeSync(AlarmTransition)

/** What stands for the rule of an alarm that has none. */
const noRule = "00000000-0000-0000-0000-000000000000"

const row = (transition: AlarmTransition) => {
  const { at, rule_id, ...rest } = encode(transition)
  return { ...rest, rule_id: rule_id ?? noRule, at: sqlTime(at) }
}

/** Appends the transitions of alarms to `alarm_transitions`, each once, and gives how many there were. */
export const relayTransitions = Effect.gen(function*() {
  const alarms = yield* Alarms
  const clickhouse = yield* ClickHouse
  return yield* alarms.tell((batch, transitions) =>
    clickhouse.insert({ table: "alarm_transitions", rows: transitions.map(row), deduplicationToken: batch })
  )
})

const resolveOrphans = Effect.flatMap(
  Effect.all([Alarms, DateTime.now]),
  ([alarms, now]) => alarms.resolveOrphans(now)
)

/** Tells ClickHouse of the transitions within a second, on one of all nodes. */
export const AlarmRelaySingleton = singleton(
  "alarm-transitions",
  resolveOrphans.pipe(
    Effect.zipRight(relayTransitions),
    Effect.repeat({ schedule: Schedule.spaced("1 second"), while: () => true }),
    Effect.asVoid
  )
)
