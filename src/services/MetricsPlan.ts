import type { MetricsQuery } from "../schema/MetricsQuery.ts"

/** From `from_ms` up to but without `to_ms`. */
export interface Span {
  readonly from_ms: number
  readonly to_ms: number
}

/** What is answered from a rollup, and what at the edges from the events themselves. */
export interface Cut {
  readonly inner: Span
  readonly edges: ReadonlyArray<Span>
}

/**
 * The whole buckets of a range and its two edges; `undefined` where no bucket lies in it. Edges before `rawFrom_ms`,
 * of which there are no events any more, are given as the whole buckets that they lie in.
 */
export const cutRange = (range: Span, bucket_ms: number, rawFrom_ms = 0): Cut | undefined => {
  const { from_ms, to_ms } = range
  const up = (ms: number) => Math.ceil(ms / bucket_ms) * bucket_ms
  const down = (ms: number) => Math.floor(ms / bucket_ms) * bucket_ms
  const first = from_ms >= rawFrom_ms ? up(from_ms) : down(from_ms)
  const last = to_ms >= rawFrom_ms ? down(to_ms) : up(to_ms)
  if (first >= last) return undefined
  const edges = [{ from_ms, to_ms: first }, { from_ms: last, to_ms }].filter((edge) => edge.from_ms < edge.to_ms)
  return { inner: { from_ms: first, to_ms: last }, edges }
}

export type UniqueIpsRollup = "dhcp_unique_ips_1m" | "dhcp_unique_ips_1h"

/** From when on there are data, in milliseconds. */
export interface KeptFrom {
  readonly events_ms: number
  readonly minutes_ms: number
}

export interface UniqueIpsPlan {
  readonly rollup: UniqueIpsRollup | "none"
  readonly inner: Span | undefined
  readonly edges: ReadonlyArray<Span>
  /** Width in seconds of the intervals whose addresses are counted, before they are combined into steps. */
  readonly interval_s: number
}

const divides = (bucket_s: number, width_s: number): boolean => width_s % bucket_s === 0

/** `uniq` counts over the whole step; the other aggregates combine the counts of its hours or minutes. */
const intervalOf = ({ aggregate, step_s }: MetricsQuery): number => {
  if (aggregate === "uniq") return step_s
  return divides(3600, step_s) ? 3600 : divides(60, step_s) ? 60 : step_s
}

/**
 * Where distinct addresses are read: the coarsest rollup whose buckets fill the intervals and that reaches back far
 * enough. Rollups know nothing but the protocol, so a query that asks for more is answered from the events.
 */
export const planUniqueIps = (query: MetricsQuery, selective: boolean, kept: KeptFrom): UniqueIpsPlan => {
  const range = { from_ms: query.start_ms, to_ms: query.end_ms }
  const interval_s = intervalOf(query)
  const candidates: ReadonlyArray<{ rollup: UniqueIpsRollup; bucket_s: number; from_ms: number }> = [
    { rollup: "dhcp_unique_ips_1h", bucket_s: 3600, from_ms: 0 },
    { rollup: "dhcp_unique_ips_1m", bucket_s: 60, from_ms: kept.minutes_ms }
  ]
  if (!selective) {
    for (const { bucket_s, from_ms, rollup } of candidates) {
      if (!divides(bucket_s, interval_s) || range.from_ms < from_ms) continue
      const cut = cutRange(range, bucket_s * 1000, kept.events_ms)
      if (cut !== undefined) return { rollup, interval_s, ...cut }
    }
  }
  return { rollup: "none", inner: undefined, edges: [range], interval_s }
}
