import { DateTime, Effect } from "effect"
import type { NotificationPreview } from "../../schema/NotificationRule.ts"
import type { EventType, ServiceEvent } from "../../schema/ServiceEvent.ts"
import { compileEventPredicate } from "../EventPredicate.ts"
import { Silences } from "../NotificationRules.ts"
import { ServiceEvents } from "../ServiceEvents.ts"
import { takes } from "./Dispatcher.ts"
import { groupKeyOf, labelsOf } from "./groups.ts"

const examinedMax = 10_000

/** The newest events of a time, at most `examinedMax`. */
const eventsSince = Effect.fnUntraced(
  function*(start: DateTime.Utc, end: DateTime.Utc, hidden: ReadonlyArray<EventType>) {
    const events = yield* ServiceEvents
    const found: Array<ServiceEvent> = []
    for (let cursor: string | undefined;;) {
      const page = yield* Effect.orDie(events.list({ start, end, hidden, limit: 1000, cursor }))
      found.push(...page.items)
      if (page.next === null || found.length >= examinedMax) return found
      cursor = page.next
    }
  }
)

/** Which of the last day's events a rule would have taken, and a silence muted. */
export const preview = Effect.fn("Notifications.preview")(function*(
  { limit, rule, silence }: typeof NotificationPreview.Type,
  hidden: ReadonlyArray<EventType>
) {
  const end = yield* DateTime.now
  const start = DateTime.subtract(end, { days: 1 })
  const examined = yield* eventsSince(start, end, hidden)
  const inForce = yield* Effect.flatMap(Silences, ({ active }) => active(end))
  const muting = [...silence === undefined ? [] : [silence.matchers], ...inForce.map(({ matchers }) => matchers)]
    .map(compileEventPredicate)
  const taken = examined.filter(rule === undefined ? () => true : takes(rule))
  const items = taken.map((event) => ({ event, silenced: muting.some((matches) => matches(event)) }))
  const groups = new Map<string, { readonly labels: Readonly<Record<string, string>>; events: number }>()
  for (const event of taken) {
    const labels = labelsOf({ group_by: rule?.group_by ?? [] }, event)
    const key = groupKeyOf(labels)
    groups.set(key, { labels, events: (groups.get(key)?.events ?? 0) + 1 })
  }
  return {
    start,
    end,
    examined: examined.length,
    matched: items.length,
    silenced: items.filter(({ silenced }) => silenced).length,
    groups: [...groups.values()].slice(0, limit),
    items: items.slice(0, limit)
  }
})
