import { Either } from "effect"
import {
  type Aggregate,
  type MetricsParams,
  type MetricsQuery,
  type MetricTime,
  metricTime,
  stepMillis
} from "../schema/MetricsQuery.ts"
import { promDuration } from "../schema/PromDuration.ts"

/** Bounds of a query; what lies outside is moved to the nearest bound. */
export const metricsLimits = {
  automaticPoints: 1000,
  points: 11_000,
  limit: 1000,
  rangeDays: 1095,
  /** How far ahead of now a range may end: as far as events may lie. */
  aheadHours: 24
} as const

const hour = 3_600_000
const day = 24 * hour

/** Steps in seconds that an automatic step is chosen from: they divide hours, days and weeks. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800]

/** Ranges longer than this have automatic steps of whole hours, which the hourly rollups answer. */
const hourlyFrom = 3 * day

/** What is particular to a metric. */
export interface MetricRules {
  readonly aggregates: ReadonlyArray<Aggregate>
  /** The shortest step in seconds that data from this time on can be told in. */
  readonly finestStep: (start_ms: number, now_ms: number) => number
  /** Parameters that say nothing about this metric. */
  readonly ignored: ReadonlyArray<"exclude_blocked" | "protocol">
  readonly why: string
}

/** A parameter that can't be satisfied by moving it: its pointer in the query, and what is expected. */
export interface QueryRefused {
  readonly pointer: string
  readonly message: string
}

export interface Resolved {
  readonly query: MetricsQuery
  /** What was changed, a sentence each that begins with the parameter. */
  readonly warnings: ReadonlyArray<string>
}

/** The parameters with every default in place but the present: equal texts are equal queries. */
export const queryKey = (metric: string, params: MetricsParams, filters: string): string =>
  JSON.stringify([
    metric,
    params.start === undefined ? null : metricTime(params.start),
    params.end === undefined ? { _tag: "Ago", ms: 0 } : metricTime(params.end),
    params.step === undefined || params.step === "" ? null : stepMillis(params.step),
    params.limit ?? metricsLimits.limit,
    params.aggregate ?? null,
    params.exclude_blocked === "true",
    params.protocol ?? "all",
    filters
  ])

const at = (time: MetricTime, now: number): number => time._tag === "At" ? time.ms : now - time.ms

const iso = (ms: number): string => new Date(ms).toISOString()

const pointsOf = (start: number, end: number, step_s: number): number =>
  Math.floor((end - 1) / (step_s * 1000)) - Math.floor(start / (step_s * 1000)) + 1

/** Steps start at multiples of themselves since 1970, so a range can touch one more than fits into it. */
const automaticStep = (start: number, end: number, finest: number): number => {
  const least = Math.max(finest, end - start > hourlyFrom ? 3600 : 1)
  const found = steps.find((step) => step >= least && pointsOf(start, end, step) <= metricsLimits.automaticPoints)
  return found ?? Math.ceil((end - start) / (metricsLimits.automaticPoints - 1) / day) * 86_400
}

/** Least whole number of seconds from `least` on with at most `metricsLimits.points` points. */
const smallestStep = (start: number, end: number, least: number): number => {
  let step = Math.max(least, Math.floor((end - start) / 1000 / metricsLimits.points))
  while (pointsOf(start, end, step) > metricsLimits.points) step++
  return step
}

/** The query that answers these parameters at `now_ms`. */
export const resolveQuery = (
  params: MetricsParams,
  rules: MetricRules,
  now_ms: number
): Either.Either<Resolved, QueryRefused> => {
  const warnings: Array<string> = []
  const moved = (name: string, asked: number, used: number, why: string): number => {
    if (asked !== used) warnings.push(`${name}: moved to ${iso(used)}, ${why}`)
    return used
  }
  const { aheadHours, limit: limitDefault, points, rangeDays } = metricsLimits

  const askedEnd = at(params.end === undefined ? { _tag: "Ago", ms: 0 } : metricTime(params.end)!, now_ms)
  const latest = now_ms + aheadHours * hour
  const end = moved("end", askedEnd, Math.min(askedEnd, latest), `no event is more than ${aheadHours} hours ahead`)
  const askedStart = params.start === undefined ? end - day : at(metricTime(params.start)!, now_ms)
  if (askedStart >= askedEnd) {
    return Either.left({ pointer: "/start", message: "Expected a start before the end" })
  }
  if (end <= 0 || askedStart >= end) {
    return Either.left({ pointer: "/start", message: "Expected a range that has begun" })
  }
  const earliest = Math.max(0, end - rangeDays * day)
  const start = params.start === undefined
    ? Math.max(askedStart, earliest)
    : moved("start", askedStart, Math.max(askedStart, earliest), `a range has at most ${rangeDays} days`)

  const finest = rules.finestStep(start, now_ms)
  const askedStep = params.step === undefined || params.step === "" ? undefined : stepMillis(params.step)! / 1000
  let step_s = automaticStep(start, end, finest)
  if (askedStep !== undefined) {
    const whole = Math.min(Math.max(1, Math.round(askedStep)), rangeDays * 86_400)
    step_s = whole >= finest && pointsOf(start, end, whole) <= points ? whole : smallestStep(
      start,
      end,
      // Only whole multiples of the finest step can be told.
      Math.max(finest, whole)
    )
    if (finest > 1) step_s = Math.ceil(step_s / finest) * finest
    if (step_s !== askedStep) {
      warnings.push(
        `step: moved to ${promDuration(step_s * 1000)}, ` +
          (whole < finest
            ? "what is that old is kept by the hour"
            : `it is whole seconds and gives at most ${points} points`)
      )
    }
  }

  const limit = Math.min(Math.max(params.limit ?? limitDefault, 1), points)
  if (params.limit !== undefined && params.limit !== limit) {
    warnings.push(`limit: moved to ${limit}, it is 1 to ${points}`)
  }
  const [byDefault] = rules.aggregates as readonly [Aggregate, ...Array<Aggregate>]
  const aggregate = params.aggregate ?? byDefault
  const known = rules.aggregates.includes(aggregate)
  if (!known) warnings.push(`aggregate: ${byDefault} is used, this metric has no ${aggregate}`)

  const exclude_blocked = params.exclude_blocked === "true"
  if (exclude_blocked && rules.ignored.includes("exclude_blocked")) {
    warnings.push(`exclude_blocked: has no effect, ${rules.why}`)
  }
  const protocol = params.protocol ?? "all"
  if (protocol !== "all" && rules.ignored.includes("protocol")) {
    warnings.push(`protocol: has no effect, ${rules.why}`)
  }
  return Either.right({
    query: {
      start_ms: start,
      end_ms: end,
      step_s,
      limit,
      aggregate: known ? aggregate : byDefault,
      exclude_blocked,
      protocol
    },
    warnings
  })
}
