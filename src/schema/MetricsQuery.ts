import { Schema } from "effect"
import { protocols } from "./DhcpEvent.ts"
import { promMillis } from "./PromDuration.ts"
import { canonicalInstant } from "./Time.ts"

/** A point in time as a query states it: absolute, or so many milliseconds before now. */
export type MetricTime = { readonly _tag: "At"; readonly ms: number } | { readonly _tag: "Ago"; readonly ms: number }

/** 1 January 2000 in seconds and in milliseconds: what lies between is taken for seconds. */
const millisFrom = 100_000_000_000

const ago = /^now(?:\s*-\s*(\S+))?$/
const unix = /^\d{1,15}(?:\.\d{1,9})?$/

/** Reads RFC 3339, Unix seconds or milliseconds, `now` and `now-6h`; `undefined` where it is none of these. */
export const metricTime = (text: string): MetricTime | undefined => {
  const relative = ago.exec(text)
  if (relative !== null) {
    const ms = relative[1] === undefined ? 0 : promMillis(relative[1])
    return ms === undefined ? undefined : { _tag: "Ago", ms }
  }
  if (unix.test(text)) {
    const value = Number(text)
    return { _tag: "At", ms: Math.round(value >= millisFrom ? value : value * 1000) }
  }
  const instant = canonicalInstant(text)
  return instant === undefined ? undefined : { _tag: "At", ms: Date.parse(instant) }
}

/** Milliseconds of a step: a Prometheus duration or seconds; `undefined` where it is neither. */
export const stepMillis = (text: string): number | undefined =>
  /^\d{1,12}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1000 : promMillis(text)

const Time = Schema.String.pipe(
  Schema.filter((text) =>
    metricTime(text) !== undefined || "Expected an RFC 3339 time, Unix seconds or milliseconds, or now-6h"
  )
)

export const aggregates = ["sum", "avg", "min", "max", "last", "count", "uniq"] as const
export type Aggregate = (typeof aggregates)[number]

export const metricProtocols = ["all", ...protocols] as const
export type MetricProtocol = (typeof metricProtocols)[number]

/** Query parameters that every metric takes; `filters` differs by metric. */
export const MetricsParams = {
  start: Schema.optional(
    Time.annotations({ description: "RFC 3339, Unix seconds or milliseconds, or `now-6h`; default 24 h before `end`" })
  ),
  end: Schema.optional(Time.annotations({ description: "as `start`, exclusive; default now" })),
  step: Schema.optional(
    Schema.String.pipe(
      Schema.filter((text) =>
        text === "" || stepMillis(text) !== undefined || "Expected a Prometheus duration such as 5m, or seconds"
      )
    ).annotations({
      description: "Prometheus duration or seconds; empty: automatic, at most 1000 points. Enlarged where more than " +
        "11 000 points would come of it."
    })
  ),
  limit: Schema.optional(
    Schema.NumberFromString.pipe(Schema.int()).annotations({
      description: "points of a series, the newest ones: 1 to 11 000, default 1000"
    })
  ),
  aggregate: Schema.optional(
    Schema.Literal(...aggregates).annotations({ description: "how values are combined; the default is the metric's" })
  ),
  format: Schema.optional(Schema.Literal("timeseries")),
  exclude_blocked: Schema.optional(
    Schema.Literal("true", "false").annotations({ description: "leave out clients that are blocked now" })
  ),
  protocol: Schema.optional(Schema.Literal(...metricProtocols))
}

/** The parameters as they were sent, the filter apart. */
export type MetricsParams = Schema.Struct.Type<typeof MetricsParams>

/** A query as it is answered: everything in its range and the defaults filled in. */
export interface MetricsQuery {
  /** From `start_ms` up to but without `end_ms`. */
  readonly start_ms: number
  readonly end_ms: number
  /** Whole seconds. */
  readonly step_s: number
  readonly limit: number
  readonly aggregate: Aggregate
  readonly exclude_blocked: boolean
  readonly protocol: MetricProtocol
}
