import { DateTime, Effect, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { AlarmOver } from "../../api/problems/automation.ts"
import { Alarm, AlarmId } from "../../schema/Alarm.ts"
import { RuleId } from "../../schema/AutomationRule.ts"
import { canonicalDuid } from "../../schema/Duid.ts"
import { canonicalMac } from "../../schema/Mac.ts"
import { type AlarmMove, Alarms } from "../../services/Alarms.ts"
import { CurrentRequest, note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"

const alarmId = idFrom(AlarmId, "alarm")

const over = () => new AlarmOver({ detail: "The alarm is resolved already" })
const instant = (text: string | undefined) => text === undefined ? undefined : DateTime.unsafeMake(text)

const told = Schema.encodeSync(Alarm)

/** A client as the records name it; what is neither a MAC nor a DUID matches nothing. */
const clientNamed = (text: string | undefined) => text && (canonicalMac(text) ?? canonicalDuid(text) ?? "unknown")

const moveWith = (comment: string | undefined) =>
  Effect.gen(function*() {
    const { id: by } = yield* CurrentUser
    const { id: requestId } = yield* CurrentRequest
    const move: AlarmMove = { by, requestId, comment, at: yield* DateTime.now }
    return move
  })

export const AlarmsHttp = group(
  Api,
  "alarms",
  Effect.fnUntraced(function*(handlers) {
    const alarms = yield* Alarms
    return handlers
      .handle("list", ({ urlParams: { client, end, rule_id, start, ...rest } }) =>
        alarms.list({
          ...rest,
          client: clientNamed(client),
          rule_id: rule_id === undefined ? undefined : RuleId.make(rule_id),
          start: instant(start),
          end: instant(end)
        }).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor)))
      .handle("get", ({ path }) =>
        alarmId.parse(path.id).pipe(
          Effect.flatMap(alarms.get),
          Effect.catchTag("Alarms/AlarmMissing", alarmId.missing)
        ))
      .handle(
        "acknowledge",
        Effect.fnUntraced(
          function*({ path, payload }) {
            const before = yield* Effect.flatMap(alarmId.parse(path.id), alarms.get)
            const after = yield* alarms.acknowledge(before.id, yield* moveWith(payload.comment))
            yield* note({ before: told(before), after: told(after) })
            return after
          },
          Effect.catchTags({ "Alarms/AlarmMissing": alarmId.missing, "Alarms/AlarmResolved": over })
        ),
        { uninterruptible: true }
      )
      .handle(
        "resolve",
        Effect.fnUntraced(
          function*({ path, payload }) {
            const before = yield* Effect.flatMap(alarmId.parse(path.id), alarms.get)
            const after = yield* alarms.resolve(before.id, yield* moveWith(payload.comment))
            yield* note({ before: told(before), after: told(after) })
            return after
          },
          Effect.catchTag("Alarms/AlarmMissing", alarmId.missing)
        ),
        { uninterruptible: true }
      )
  })
)
