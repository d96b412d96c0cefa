import { Schema } from "effect"
import { aggregates, metricProtocols } from "./MetricsQuery.ts"

/** The query as it was answered, defaults and moved bounds included (specification 2.13). */
export const EchoedQuery = Schema.Struct({
  Start: Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time" } }),
  End: Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time" } }),
  Step: Schema.String.annotations({ description: "Prometheus duration" }),
  Limit: Schema.Int,
  Aggregate: Schema.Literal(...aggregates),
  Format: Schema.Literal("timeseries"),
  Filters: Schema.String.annotations({ description: "the filter as canonical JSON, empty where there is none" }),
  ExcludeBlocked: Schema.Boolean,
  Protocol: Schema.Literal(...metricProtocols)
}).annotations({ identifier: "MetricsEchoedQuery" })

const metadata = {
  data_points: Schema.NonNegativeInt,
  series_count: Schema.NonNegativeInt,
  execution_time_ms: Schema.NonNegativeInt.annotations({ description: "time that this answer took" }),
  materialized_view_used: Schema.String.annotations({ description: "the rollup that was read, or `none`" }),
  cache_hit: Schema.Boolean,
  query: EchoedQuery,
  warnings: Schema.Array(Schema.String).annotations({
    description: "what of the query was moved into its bounds or had no effect"
  })
}

const envelope = <D extends Schema.Struct.Field, F extends Schema.Struct.Fields>(data: D, more: F) =>
  Schema.Struct({ status: Schema.Literal("success"), data, metadata: Schema.Struct({ ...metadata, ...more }) })

const Value = Schema.Struct({ value: Schema.Number, unit: Schema.Literal("alarms") })

export const AlarmStatsAnswer = envelope(
  Schema.Struct({
    acknowledged: Value.annotations({ description: "acknowledged at the end of the range" }),
    firing: Value.annotations({ description: "firing at the end of the range" }),
    resolved: Value.annotations({ description: "resolved within the range" }),
    total: Value.annotations({ description: "distinct alarms that were open at some time of the range" })
  }),
  {}
).annotations({ identifier: "AlarmStats" })
export type AlarmStatsAnswer = typeof AlarmStatsAnswer.Type

export const UniqueIpsAnswer = envelope(
  Schema.Struct({
    series: Schema.Array(Schema.Struct({
      name: Schema.String,
      tags: Schema.Struct({ protocol: Schema.String }),
      points: Schema.Array(Schema.Tuple(Schema.Int, Schema.Number)).annotations({
        description: "start of the step in milliseconds, value; none where there is no data"
      })
    }))
  }),
  { protocol_filter: Schema.Literal(...metricProtocols) }
).annotations({ identifier: "UniqueIps" })
export type UniqueIpsAnswer = typeof UniqueIpsAnswer.Type

export const RatioAnswer = envelope(
  Schema.Struct({
    value: Schema.NullOr(Schema.Number).annotations({
      description: "bytes in ÷ bytes out over the range; null where none went out"
    }),
    min: Schema.Number.annotations({ description: "least ratio of a step, 0 where there is none" }),
    max: Schema.Number.annotations({ description: "greatest ratio of a step, 0 where there is none" }),
    unit: Schema.Literal("ratio")
  }),
  {}
).annotations({ identifier: "InboundOutboundRatio" })
export type RatioAnswer = typeof RatioAnswer.Type
