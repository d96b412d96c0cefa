import type { Detector } from "../schema/AutomationRule.ts"
import type { Window } from "../schema/Detection.ts"
import { messageTypes } from "../schema/DhcpEvent.ts"
import type { DhcpEventFilter, DhcpEventFilterField } from "../schema/FilterFields.ts"
import { retentionBounds } from "../schema/Retention.ts"

const hour_ms = 3_600_000
const day_ms = 24 * hour_ms

/** A table that the traffic of a stretch of time is read from: each event, or clients' sums by hour or by day. */
export type ActivitySource = "dhcp_events" | "dhcp_activity_1h" | "dhcp_activity_1d"

/** What comes after `after_ms`, up to and including `through_ms`: as the window of a rule. */
export interface Stretch {
  readonly after_ms: number
  readonly through_ms: number
}

export interface Piece extends Stretch {
  readonly source: ActivitySource
}

/** Pieces in order of time that together are the window, each up to where the next begins. */
export type DetectionPlan = readonly [Piece, ...ReadonlyArray<Piece>]

const rollups: ReadonlyArray<{ readonly source: ActivitySource; readonly bucket_ms: number }> = [
  { source: "dhcp_activity_1d", bucket_ms: day_ms },
  { source: "dhcp_activity_1h", bucket_ms: hour_ms }
]

/** Fields of an event that can be told from its protocol and client. */
const rollupFields: ReadonlySet<DhcpEventFilterField> = new Set(["protocol", "client", "client_mac"])

const asksFor = (filter: DhcpEventFilter): ReadonlyArray<DhcpEventFilterField> =>
  filter.rules.flatMap((rule) => rule._tag === "Group" ? asksFor(rule) : [rule.field])

/** Whether the sums of clients tell all that the rule asks, so that no event need be looked at. */
export const rollupsSuffice = ({ exclude, filter, message_types }: Detector): boolean =>
  (message_types === undefined || messageTypes.every((type) => message_types.includes(type))) &&
  (filter === undefined || asksFor(filter).every((field) => rollupFields.has(field))) &&
  (exclude?.subnets ?? []).length === 0

/**
 * From when on events and rollups are complete whatever retention says or has ever said, which is the shortest that
 * each of them can have; an hour less, because a bucket goes by its beginning.
 */
export const completeFrom = (now_ms: number): number => now_ms - retentionBounds.medium.min * day_ms + hour_ms

/** The stretch with as many whole buckets as lie in it after `from_ms`, and what is left over at its ends. */
const cut = (piece: Piece, source: ActivitySource, bucket_ms: number, from_ms: number): ReadonlyArray<Piece> => {
  const first = Math.ceil(Math.max(piece.after_ms, from_ms) / bucket_ms) * bucket_ms
  const last = Math.floor(piece.through_ms / bucket_ms) * bucket_ms
  if (first >= last) return [piece]
  return [
    { ...piece, through_ms: first },
    { source, after_ms: first, through_ms: last },
    { ...piece, after_ms: last }
  ].filter(({ after_ms, through_ms }) => after_ms < through_ms)
}

/**
 * The ways to answer a rule on a window: by events alone, which comes first, and where rollups suffice by hours or by
 * days and hours with events at the ends. Nothing before `from_ms` is taken from a rollup.
 */
export const detectionPlans = (
  rule: Detector,
  window: Window,
  from_ms: number
): readonly [DetectionPlan, ...ReadonlyArray<DetectionPlan>] => {
  const whole: Piece = { source: "dhcp_events", after_ms: window.start.getTime(), through_ms: window.end.getTime() }
  const by = (used: typeof rollups): ReadonlyArray<Piece> =>
    used.reduce<ReadonlyArray<Piece>>(
      (pieces, { bucket_ms, source }) =>
        pieces.flatMap((piece) => piece.source === "dhcp_events" ? cut(piece, source, bucket_ms, from_ms) : [piece]),
      [whole]
    )
  const plans = !rollupsSuffice(rule) ? [] : [by(rollups.slice(1)), by(rollups)].filter(
    (pieces, index): pieces is [Piece, ...Array<Piece>] =>
      pieces.some(({ source }) => source === rollups[1 - index]!.source)
  )
  return [[whole], ...plans]
}

/** Rows of each table that a plan reads. */
export type PlanRows = Readonly<Partial<Record<ActivitySource, number>>>

/**
 * What a row costs beside rollups, in rows of a plan by events alone: a sum is a set of addresses to be merged, and
 * events have to be made into such sets first.
 */
const cost = { event: 3, sum: 1.4 } as const

/** A plan by rollups must cost this much less: estimates are coarse, and its query is the more elaborate one. */
const gain = 0.8

/** So few events are counted before rollups could be looked for. */
export const fewEvents = 100_000

const costOf = (rows: PlanRows): number =>
  cost.event * (rows.dhcp_events ?? 0) + cost.sum * ((rows.dhcp_activity_1h ?? 0) + (rows.dhcp_activity_1d ?? 0))

/** Which of the plans by rollups costs least, `undefined` where reading all `events` costs no more. */
export const cheapest = <Plan extends { readonly rows: PlanRows }>(
  events: number,
  plans: ReadonlyArray<Plan>
): Plan | undefined => {
  const [best] = [...plans].sort((a, b) => costOf(a.rows) - costOf(b.rows))
  return best !== undefined && events > fewEvents && costOf(best.rows) < gain * events ? best : undefined
}
