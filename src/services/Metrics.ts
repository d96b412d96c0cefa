import { Context, type Effect } from "effect"
import type { Protocol } from "../schema/DhcpEvent.ts"
import type { DhcpEventFilter } from "../schema/FilterFields.ts"
import type { AlarmFilter, TrafficFilter } from "../schema/MetricsFilters.ts"
import type { MetricsQuery } from "../schema/MetricsQuery.ts"

/** A query with its filter, and the clients that it leaves out. */
export interface MetricRequest<Filter> {
  readonly query: MetricsQuery
  readonly filter: Filter | undefined
  readonly except: ReadonlyArray<string>
}

/** Start of a step in milliseconds, and its value. */
export type Point = readonly [time_ms: number, value: number]

export interface UniqueIps {
  /** The rollup that was read, or `none`. */
  readonly rollup: string
  /** One for each protocol that has points, the points in order of time. */
  readonly series: ReadonlyArray<{ readonly protocol: Protocol; readonly points: ReadonlyArray<Point> }>
}

export interface AlarmCounts {
  readonly firing: number
  readonly acknowledged: number
  readonly resolved: number
  readonly total: number
}

/** Octets of one step, in order of time. */
export interface TrafficStep {
  readonly time_ms: number
  readonly inbound_bytes: number
  readonly outbound_bytes: number
}

/** What was observed, summed up. A store that fails is a defect. */
export class Metrics extends Context.Tag("services/Metrics")<
  Metrics,
  {
    /** Distinct assigned, client and requested addresses; by a rollup with a standard error of 0.4 %. */
    readonly uniqueIps: (request: MetricRequest<DhcpEventFilter>) => Effect.Effect<UniqueIps>
    readonly alarmStats: (request: MetricRequest<AlarmFilter>) => Effect.Effect<AlarmCounts>
    readonly traffic: (request: MetricRequest<TrafficFilter>) => Effect.Effect<ReadonlyArray<TrafficStep>>
    /** Days for which single events are kept; before that, addresses are known by the hour. */
    readonly eventsKeptDays: Effect.Effect<number>
  }
>() {}
