import { HttpApiBuilder } from "@effect/platform"
import { DateTime, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { AlarmOver } from "../../api/groups/AlarmsApi.ts"
import { AlarmId } from "../../schema/Alarm.ts"
import { RuleId } from "../../schema/AutomationRule.ts"
import { type AlarmMove, Alarms } from "../../services/Alarms.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { idFrom } from "./ids.ts"

const alarmId = idFrom(AlarmId, "alarm")

const over = () => new AlarmOver({ detail: "The alarm is resolved already" })
const instant = (text: string | undefined) => text === undefined ? undefined : DateTime.unsafeMake(text)

const moveWith = (comment: string | undefined) =>
  Effect.gen(function*() {
    const { id: by } = yield* CurrentUser
    const { id: requestId } = yield* CurrentRequest
    const move: AlarmMove = { by, requestId, comment, at: yield* DateTime.now }
    return move
  })

export const AlarmsHttp = HttpApiBuilder.group(
  Api,
  "alarms",
  Effect.fnUntraced(function*(handlers) {
    const alarms = yield* Alarms
    return handlers
      .handle("list", ({ urlParams: { end, rule_id, start, ...rest } }) =>
        alarms.list({
          ...rest,
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
        ({ path, payload }) =>
          Effect.all([alarmId.parse(path.id), moveWith(payload.comment)]).pipe(
            Effect.flatMap(([id, move]) => alarms.acknowledge(id, move)),
            Effect.catchTags({ "Alarms/AlarmMissing": alarmId.missing, "Alarms/AlarmResolved": over })
          ),
        { uninterruptible: true }
      )
      .handle(
        "resolve",
        ({ path, payload }) =>
          Effect.all([alarmId.parse(path.id), moveWith(payload.comment)]).pipe(
            Effect.flatMap(([id, move]) => alarms.resolve(id, move)),
            Effect.catchTag("Alarms/AlarmMissing", alarmId.missing)
          ),
        { uninterruptible: true }
      )
  })
)
