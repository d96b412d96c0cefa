import type { NotificationRule } from "../../schema/NotificationRule.ts"
import { promMillis } from "../../schema/PromDuration.ts"
import { momentOf, type ServiceEvent } from "../../schema/ServiceEvent.ts"
import { eventReaders } from "../EventPredicate.ts"

/** An alert that lasts; `told` once its begin was sent. */
export interface ActiveAlert {
  readonly event: ServiceEvent
  readonly told: boolean
}

/**
 * Events of one rule with equal labels. `pending` waits to be sent, in order; `active` is what has begun and not ended.
 * Times are milliseconds since 1970.
 */
export interface Group {
  readonly labels: Readonly<Record<string, string>>
  readonly pending: ReadonlyArray<ServiceEvent>
  readonly active: Readonly<Record<string, ActiveAlert>>
  readonly flushAt: number
  /** When something was last sent, 0 where nothing was. */
  readonly notifiedAt: number
  /** Notifications sent so far. */
  readonly sequence: number
}

/** The timing of a rule. */
export type Timing = Pick<NotificationRule, "group_wait" | "group_interval" | "repeat_interval" | "send_resolved">

/** A group with more than this to send doesn't wait. */
export const pendingMax = 500

/** What the begin and the end of one alert have in common. */
export const alertKeyOf = (event: ServiceEvent): string => `${momentOf(event.type).alert} ${event.subject}`

/** The labels by which a rule groups an event; a field that the event lacks is no label. */
export const labelsOf = (
  { group_by }: Pick<NotificationRule, "group_by">,
  event: ServiceEvent
): Readonly<Record<string, string>> => {
  if (group_by.includes("...")) return { alert: momentOf(event.type).alert, subject: event.subject }
  const names = [...new Set(group_by)].sort()
  return Object.fromEntries(names.flatMap((name) => {
    const value = eventReaders[name as keyof typeof eventReaders](event)
    return value === undefined || value === "" ? [] : [[name, String(value)]]
  }))
}

/** One text for equal labels. */
export const groupKeyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => a < b ? -1 : 1))

export const emptyGroup = (labels: Readonly<Record<string, string>>, timing: Timing, now: number): Group => ({
  labels,
  pending: [],
  active: {},
  flushAt: now + promMillis(timing.group_wait)!,
  notifiedAt: 0,
  sequence: 0
})

const without = <A>(record: Readonly<Record<string, A>>, key: string): Readonly<Record<string, A>> => {
  const { [key]: _, ...rest } = record
  return rest
}

/** Takes an event in, to be sent when the group is next due. */
export const add = (group: Group, event: ServiceEvent, now: number): Group => {
  const { state } = momentOf(event.type)
  const key = alertKeyOf(event)
  const active = state === "firing"
    ? { ...group.active, [key]: { event, told: false } }
    : state === "resolved"
    ? without(group.active, key)
    : group.active
  const pending = [...group.pending, event]
  return {
    ...group,
    active,
    pending,
    flushAt: pending.length >= pendingMax ? Math.min(now, group.flushAt) : group.flushAt
  }
}

/** One event of a notification. */
export interface Sending {
  readonly event: ServiceEvent
  readonly reason: "new" | "repeat"
}

export interface Flushed {
  readonly sent: ReadonlyArray<Sending>
  /** Events that a silence mutes; an alert that still lasts when it is over is sent then. */
  readonly muted: number
  /** The group from here on, undefined where it is over. */
  readonly group: Group | undefined
}

/**
 * What a group that is due sends: first what is new, in order; where nothing is, what still lasts, once
 * `repeat_interval` has passed since it last sent anything. It is due again after `group_interval`, and over when
 * then nothing is left of it.
 */
export const flush = (
  group: Group,
  timing: Timing,
  isMuted: (event: ServiceEvent) => boolean,
  now: number
): Flushed => {
  const wanted = group.pending.filter(({ type }) => timing.send_resolved || momentOf(type).state !== "resolved")
  const pendingIds = new Set(wanted.map(({ id }) => id))
  // An alert that was muted when it began, and is no longer.
  const late = Object.values(group.active).filter(({ event, told }) => !told && !pendingIds.has(event.id))
    .map(({ event }) => event)
  const fresh = [...late, ...wanted]
  const news = fresh.filter((event) => !isMuted(event))
  const told = new Set(news.map(({ id }) => id))
  const active = Object.fromEntries(
    Object.entries(group.active).map((
      [key, alert]
    ) => [key, told.has(alert.event.id) ? { ...alert, told: true } : alert])
  )
  const lasting = Object.values(active).filter((alert) => alert.told && !isMuted(alert.event))
  const repeats = news.length === 0 && now - group.notifiedAt >= promMillis(timing.repeat_interval)!
    ? lasting.map(({ event }) => event)
    : []
  const sent: ReadonlyArray<Sending> = [
    ...news.map((event) => ({ event, reason: "new" as const })),
    ...repeats.map((event) => ({ event, reason: "repeat" as const }))
  ]
  const over = sent.length === 0 && Object.keys(active).length === 0
  return {
    sent,
    muted: wanted.length - wanted.filter((event) => told.has(event.id)).length,
    group: over ? undefined : {
      labels: group.labels,
      pending: [],
      active,
      flushAt: now + promMillis(timing.group_interval)!,
      notifiedAt: sent.length > 0 ? now : group.notifiedAt,
      sequence: group.sequence + (sent.length > 0 ? 1 : 0)
    }
  }
}
