import { Clock, Context, Data, Effect, Either, Layer, Schema } from "effect"
import type { Protocol } from "../schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../schema/FilterFields.ts"
import type { AlarmStatsAnswer, EchoedQuery, RatioAnswer, UniqueIpsAnswer } from "../schema/MetricsAnswer.ts"
import { AlarmFilter, TrafficFilter } from "../schema/MetricsFilters.ts"
import type { MetricsParams, MetricsQuery } from "../schema/MetricsQuery.ts"
import { promDuration } from "../schema/PromDuration.ts"
import type { UserId } from "../schema/User.ts"
import { Actions } from "./Actions.ts"
import { type MetricRequest, Metrics, type Point } from "./Metrics.ts"
import { type MetricRules, queryKey, type QueryRefused, resolveQuery } from "./MetricsQueryRules.ts"
import { makeSharedCache } from "./SharedCache.ts"
import { ratioOf } from "./TrafficRatio.ts"

/** A parameter can't be satisfied. */
export class MetricsQueryRefused extends Data.TaggedError("Metrics/QueryRefused")<QueryRefused> {}

/** The user has as many queries running as one user may. */
export class TooManyMetricsQueries extends Data.TaggedError("Metrics/TooManyQueries")<{ readonly max: number }> {}

export const metricsQueriesPerUser = 8
const cachedAnswers = 200
const cachedAtMost_ms = 60_000
const day = 86_400_000

/** What a metric is asked: its parameters, its filter, and by whom. */
export interface MetricsAsked<Filter> {
  readonly params: MetricsParams
  readonly filter: Filter | undefined
  readonly userId: UserId
}

type Failure = MetricsQueryRefused | TooManyMetricsQueries

/** Answers metric queries, each computed once for all who ask for it at the same time. */
export class MetricsAnswers extends Context.Tag("services/MetricsAnswers")<
  MetricsAnswers,
  {
    readonly alarmStats: (asked: MetricsAsked<AlarmFilter>) => Effect.Effect<AlarmStatsAnswer, Failure>
    readonly uniqueIps: (asked: MetricsAsked<DhcpEventFilter>) => Effect.Effect<UniqueIpsAnswer, Failure>
    readonly inboundOutboundRatio: (asked: MetricsAsked<TrafficFilter>) => Effect.Effect<RatioAnswer, Failure>
  }
>() {}

/** What a metric made of a query. */
interface Computed<D> {
  readonly data: D
  readonly data_points: number
  readonly series_count: number
  readonly rollup: string
  readonly warnings: ReadonlyArray<string>
}

interface Kept {
  readonly computed: Computed<unknown>
  readonly echoed: typeof EchoedQuery.Type
  readonly query: MetricsQuery
}

interface Metric<Filter, D> {
  readonly name: string
  readonly rules: Effect.Effect<MetricRules>
  readonly filter: Schema.Schema<Filter, any>
  readonly compute: (request: MetricRequest<Filter>) => Effect.Effect<Computed<D>>
}

const anyStep = () => 1

const alarms = (value: number) => ({ value, unit: "alarms" as const })

/** The newest points of each series, and how many that leaves out. */
const newest = (points: ReadonlyArray<Point>, limit: number): ReadonlyArray<Point> =>
  points.length > limit ? points.slice(points.length - limit) : points

const make = Effect.gen(function*() {
  const metrics = yield* Metrics
  const actions = yield* Actions
  const cache = yield* makeSharedCache<Kept, MetricsQueryRefused>(cachedAnswers)
  const inFlight = new Map<UserId, number>()

  const limited = <A, E, R>(userId: UserId, effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        const count = inFlight.get(userId) ?? 0
        if (count >= metricsQueriesPerUser) {
          return Effect.fail(new TooManyMetricsQueries({ max: metricsQueriesPerUser }))
        }
        inFlight.set(userId, count + 1)
        return Effect.void
      }),
      () => effect,
      () =>
        Effect.sync(() => {
          const count = inFlight.get(userId)! - 1
          if (count === 0) inFlight.delete(userId)
          else inFlight.set(userId, count)
        })
    )

  const echo = (query: MetricsQuery, filters: string): typeof EchoedQuery.Type => ({
    Start: new Date(query.start_ms).toISOString(),
    End: new Date(query.end_ms).toISOString(),
    Step: promDuration(query.step_s * 1000),
    Limit: query.limit,
    Aggregate: query.aggregate,
    Format: "timeseries",
    Filters: filters,
    ExcludeBlocked: query.exclude_blocked,
    Protocol: query.protocol
  })

  const answer = <Filter, D>(metric: Metric<Filter, D>) => {
    const encode = Schema.encodeSync(metric.filter)
    return Effect.fnUntraced(function*({ filter, params, userId }: MetricsAsked<Filter>) {
      const started = yield* Clock.currentTimeNanos
      const filters = filter === undefined ? "" : JSON.stringify(encode(filter))
      const key = queryKey(metric.name, params, filters)

      const compute = Effect.gen(function*() {
        const resolved = resolveQuery(params, yield* metric.rules, yield* Clock.currentTimeMillis)
        if (Either.isLeft(resolved)) return yield* new MetricsQueryRefused(resolved.left)
        const { query, warnings } = resolved.right
        const except = query.exclude_blocked ? yield* actions.blockedClients : []
        const computed = yield* metric.compute({ query, filter, except })
        return {
          computed: { ...computed, warnings: [...warnings, ...computed.warnings] },
          echoed: echo(query, filters),
          query
        }
      })

      const peeked = yield* cache.peek(key)
      const got = cache.get(key, compute, ({ query }) => Math.min(query.step_s * 1000, cachedAtMost_ms))
      const { hit, value } = peeked !== undefined
        ? { hit: true, value: peeked }
        : (yield* cache.isRunning(key))
        ? yield* got
        : yield* limited(userId, got)
      const elapsed = (yield* Clock.currentTimeNanos) - started
      const { computed } = value
      return {
        status: "success" as const,
        // What stands under the key was computed by this metric: its name is part of the key.
        data: computed.data as D,
        metadata: {
          data_points: computed.data_points,
          series_count: computed.series_count,
          execution_time_ms: Math.round(Number(elapsed) / 1e6),
          materialized_view_used: computed.rollup,
          cache_hit: hit,
          query: value.echoed,
          warnings: computed.warnings
        }
      }
    })
  }

  const alarmStats = answer<AlarmFilter, AlarmStatsAnswer["data"]>({
    name: "alarm-stats",
    filter: AlarmFilter,
    rules: Effect.succeed({
      aggregates: ["count"],
      finestStep: anyStep,
      ignored: ["protocol"],
      why: "alarms don't record a protocol"
    }),
    compute: (request) =>
      Effect.map(metrics.alarmStats(request), ({ acknowledged, firing, resolved, total }) => ({
        data: {
          acknowledged: alarms(acknowledged),
          firing: alarms(firing),
          resolved: alarms(resolved),
          total: alarms(total)
        },
        data_points: 4,
        series_count: 4,
        rollup: "none",
        warnings: []
      }))
  })

  const uniqueIps = answer<DhcpEventFilter, UniqueIpsAnswer["data"]>({
    name: "unique-ips",
    filter: DhcpEventFilter,
    rules: Effect.map(metrics.eventsKeptDays, (kept): MetricRules => ({
      aggregates: ["uniq", "sum", "avg", "min", "max", "last", "count"],
      finestStep: (start, now) => start < now - kept * day ? 3600 : 1,
      ignored: [],
      why: ""
    })),
    compute: (request) =>
      Effect.map(metrics.uniqueIps(request), ({ rollup, series }) => {
        const { limit } = request.query
        const named = series.map(({ points, protocol }: { protocol: Protocol; points: ReadonlyArray<Point> }) => ({
          name: protocol,
          tags: { protocol },
          points: newest(points, limit)
        }))
        const cut = series.some(({ points }) => points.length > limit)
        return {
          data: { series: named },
          data_points: named.reduce((sum, { points }) => sum + points.length, 0),
          series_count: named.length,
          rollup,
          warnings: cut ? [`limit: only the newest ${limit} points of a series are given`] : []
        }
      })
  })

  const inboundOutboundRatio = answer<TrafficFilter, RatioAnswer["data"]>({
    name: "inbound-outbound-ratio",
    filter: TrafficFilter,
    rules: Effect.succeed({
      aggregates: ["sum", "avg", "min", "max", "last", "count"],
      finestStep: anyStep,
      ignored: ["exclude_blocked", "protocol"],
      why: "traffic counters know neither clients nor protocols"
    }),
    compute: (request) =>
      Effect.map(metrics.traffic(request), (steps) => {
        const { points, ...data } = ratioOf(steps, request.query.aggregate)
        return {
          data: { ...data, unit: "ratio" as const },
          data_points: points,
          series_count: points === 0 ? 0 : 1,
          rollup: "none",
          warnings: []
        }
      })
  })

  return MetricsAnswers.of({
    alarmStats,
    uniqueIps: (asked) =>
      Effect.map(uniqueIps(asked), ({ data, metadata, status }) => ({
        status,
        data,
        metadata: { ...metadata, protocol_filter: metadata.query.Protocol }
      })),
    inboundOutboundRatio
  })
})

export const MetricsAnswersLive = Layer.scoped(MetricsAnswers, make)
