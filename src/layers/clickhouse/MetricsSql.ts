import type { DhcpEventFilter } from "../../schema/FilterFields.ts"
import type { AlarmFilter, AlarmFilterField, TrafficFilter, TrafficFilterField } from "../../schema/MetricsFilters.ts"
import type { Aggregate, MetricsQuery } from "../../schema/MetricsQuery.ts"
import type { MetricRequest } from "../../services/Metrics.ts"
import type { Span, UniqueIpsPlan } from "../../services/MetricsPlan.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { compileFilterSql, type FilterColumns } from "./FilterSql.ts"
import { makeSqlParams, type SqlParams, type SqlParamValue, sqlTime } from "./SqlParams.ts"

/** A statement with its parameters. */
export interface Compiled {
  readonly query: string
  readonly params: Readonly<Record<string, SqlParamValue>>
}

const bindTime = (params: SqlParams, ms: number): string =>
  params.bind("DateTime64(3, 'UTC')", sqlTime(new Date(ms).toISOString()))

const within = (column: string, { from_ms, to_ms }: Span, params: SqlParams): string =>
  `${column} >= ${bindTime(params, from_ms)} AND ${column} < ${bindTime(params, to_ms)}`

const rangeOf = ({ end_ms, start_ms }: MetricsQuery): Span => ({ from_ms: start_ms, to_ms: end_ms })

const stepOf = (time: string, seconds: string): string => `intDiv(toUnixTimestamp(${time}), ${seconds}) * ${seconds}`

/** How the counts of the intervals of one step become its value. */
const combine: Readonly<Record<Aggregate, string>> = {
  uniq: "max(addresses)",
  sum: "sum(addresses)",
  avg: "avg(addresses)",
  min: "min(addresses)",
  max: "max(addresses)",
  last: "argMax(addresses, at)",
  count: "count()"
}

const addressesOfEvent = "arrayFilter(ip -> ip != toIPv6('::'), [assigned_ip, client_ip, requested_ip])"

const bucketOf = { dhcp_unique_ips_1m: "minute", dhcp_unique_ips_1h: "hour" } as const

/** Distinct addresses per protocol and interval: `protocol`, `at` in seconds, `addresses`. */
const intervalsSql = (
  { except, filter, query: { protocol } }: MetricRequest<DhcpEventFilter>,
  { edges, inner, interval_s, rollup }: UniqueIpsPlan,
  params: SqlParams
): string => {
  const interval = params.bind("UInt32", interval_s)
  const ofProtocol = protocol === "all" ? [] : [`protocol = '${protocol}'`]
  const events = (span: Span): string =>
    [
      within("event_time", span, params),
      ...ofProtocol,
      ...(filter === undefined ? [] : [compileFilterSql(filter, dhcpEventColumns, params)]),
      ...(except.length === 0 ? [] : [`client NOT IN ${params.bind("Array(String)", except)}`])
    ].join(" AND ")
  const ofEvents = (aggregate: string, span: Span) =>
    `SELECT protocol, ${stepOf("event_time", interval)} AS at, ${aggregate}(${addressesOfEvent}) AS addresses
    FROM dhcp_events
    WHERE ${events(span)}
    GROUP BY protocol, at`
  if (rollup === "none" || inner === undefined) return edges.map((span) => ofEvents("uniqExactArray", span)).join("\n")
  const bucket = bucketOf[rollup]
  const states = [
    `SELECT protocol, ${stepOf(bucket, interval)} AS at, addresses
    FROM ${rollup}
    WHERE ${[within(bucket, inner, params), ...ofProtocol].join(" AND ")}`,
    ...edges.map((span) => ofEvents("uniqCombined64ArrayState(16)", span))
  ]
  return `SELECT protocol, at, uniqCombined64ArrayMerge(16)(states.addresses) AS addresses
  FROM (
    ${states.join("\n    UNION ALL\n    ")}
  ) AS states
  GROUP BY protocol, at`
}

/** Points of distinct addresses: `protocol`, `time` in seconds, `value`, by protocol and time. */
export const compileUniqueIps = (request: MetricRequest<DhcpEventFilter>, plan: UniqueIpsPlan): Compiled => {
  const params = makeSqlParams()
  const { aggregate, step_s } = request.query
  const step = params.bind("UInt32", step_s)
  return {
    query: `SELECT protocol, intDiv(at, ${step}) * ${step} AS time, toFloat64(${combine[aggregate]}) AS value
FROM (
  ${intervalsSql(request, plan, params)}
)
GROUP BY protocol, time
ORDER BY protocol, time`,
    params: params.values
  }
}

const alarmColumns: FilterColumns<AlarmFilterField> = {
  alarm_id: { sql: "toString(alarm_id)", storage: "string" },
  rule_id: { sql: "toString(rule_id)", storage: "string" },
  client: { sql: "client", storage: "string" },
  severity: { sql: "severity", storage: "string" }
}

/** One row: `firing`, `acknowledged`, `resolved` and `total`. */
export const compileAlarmStats = ({ except, filter, query }: MetricRequest<AlarmFilter>): Compiled => {
  const params = makeSqlParams()
  const start = bindTime(params, query.start_ms)
  const conditions = [
    `at < ${bindTime(params, query.end_ms)}`,
    ...(filter === undefined ? [] : [compileFilterSql(filter, alarmColumns, params)]),
    ...(except.length === 0 ? [] : [`client NOT IN ${params.bind("Array(String)", except)}`])
  ]
  // Of transitions in the same millisecond the one that is further on in an alarm's life came last.
  const order = "(at, indexOf(['firing', 'acknowledged', 'resolved'], to_status))"
  return {
    query: `SELECT
  countIf(status = 'firing') AS firing,
  countIf(status = 'acknowledged') AS acknowledged,
  countIf(resolutions > 0) AS resolved,
  countIf(changed >= ${start} OR status != 'resolved') AS total
FROM (
  SELECT
    argMax(to_status, ${order}) AS status,
    max(at) AS changed,
    countIf(to_status = 'resolved' AND at >= ${start}) AS resolutions
  FROM alarm_transitions
  WHERE ${conditions.join("\n    AND ")}
  GROUP BY alarm_id
)`,
    params: params.values
  }
}

const trafficColumns: FilterColumns<TrafficFilterField> = {
  node: { sql: "node", storage: "string" },
  target: { sql: "target", storage: "string" }
}

/** Octets of each step: `time` in seconds, `inbound_bytes`, `outbound_bytes`, in order of time. */
export const compileTraffic = ({ filter, query }: MetricRequest<TrafficFilter>): Compiled => {
  const params = makeSqlParams()
  const matches = filter === undefined ? "" : `\n  AND ${compileFilterSql(filter, trafficColumns, params)}`
  return {
    query: `SELECT
  ${stepOf("at", params.bind("UInt32", query.step_s))} AS time,
  sum(firewall_traffic.inbound_bytes) AS inbound_bytes,
  sum(firewall_traffic.outbound_bytes) AS outbound_bytes
FROM firewall_traffic
WHERE ${within("at", rangeOf(query), params)}${matches}
GROUP BY time
ORDER BY time`,
    params: params.values
  }
}
