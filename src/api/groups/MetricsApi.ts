import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { AlarmStatsAnswer, RatioAnswer, UniqueIpsAnswer } from "../../schema/MetricsAnswer.ts"
import { AlarmFilter, TrafficFilter } from "../../schema/MetricsFilters.ts"
import { MetricsParams } from "../../schema/MetricsQuery.ts"
import { Authentication } from "../Auth.ts"
import { query, requires } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { TooManyQueries } from "../problems/metrics.ts"

const filters = <A, I>(filter: Schema.Schema<A, I>, name: string) => ({
  filters: Schema.optional(
    Schema.Union(Schema.Literal(""), Schema.parseJson(filter)).annotations({
      jsonSchema: { type: "string", contentMediaType: "application/json" },
      description: `a ${name} as URL-encoded JSON; empty: none`
    })
  )
})

const moved =
  "A value that is out of range is moved into it, echoed in `metadata.query` as it was used, and named in " +
  "`metadata.warnings`; one that doesn't parse is 400. Steps begin at multiples of their length since 1970 (UTC)."

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("alarmStats", "/api/metrics/automation/alarm-stats")
      .setUrlParams(
        query({ ...MetricsParams, ...filters(AlarmFilter, "filter on alarm_id, rule_id, client, severity") })
      )
      .addSuccess(AlarmStatsAnswer)
      .addError(wire(TooManyQueries))
      .annotate(OpenApi.Summary, "Alarms by status")
      .annotate(
        OpenApi.Description,
        `Alarms that are firing and acknowledged at the end of the range, that were resolved within it, and all that were open at some time of it. ${moved}`
      )
      .annotateContext(requires("metrics:read"))
  )
  .add(
    HttpApiEndpoint.get("uniqueIps", "/api/metrics/network-health/unique-ips")
      .setUrlParams(query({ ...MetricsParams, ...filters(DhcpEventFilter, "DhcpEventFilter") }))
      .addSuccess(UniqueIpsAnswer)
      .addError(wire(TooManyQueries))
      .annotate(OpenApi.Summary, "Distinct addresses over time")
      .annotate(
        OpenApi.Description,
        `Distinct assigned, client and requested addresses, a series per protocol. \`uniq\` (the default) counts over each step; the other aggregates combine the counts of its hours, or of its minutes where the step isn't whole hours. Exact where \`materialized_view_used\` is \`none\`; from a rollup exact up to some 2000 addresses, above with a standard error of 0.4 %. Before the oldest event that is kept, addresses are known by the whole hour. ${moved}`
      )
      .annotateContext(requires("metrics:read"))
  )
  .add(
    HttpApiEndpoint.get("inboundOutboundRatio", "/api/metrics/firewall/inbound-outbound-ratio")
      .setUrlParams(query({ ...MetricsParams, ...filters(TrafficFilter, "filter on node, target") }))
      .addSuccess(RatioAnswer)
      .addError(wire(TooManyQueries))
      .annotate(OpenApi.Summary, "Bytes in by bytes out")
      .annotate(
        OpenApi.Description,
        `From the counters of the packet filter, read every 10 seconds. \`sum\` (the default) is the ratio over the whole range, the other aggregates are over the ratios of its steps; \`data_points\` counts those. ${moved}`
      )
      .annotateContext(requires("metrics:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Metrics", description: "What was observed, summed up." }))
{}
