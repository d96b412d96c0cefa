import type { Detector } from "../../schema/AutomationRule.ts"
import type { ActivitySource, DetectionPlan, Piece } from "../../services/DetectionPlan.ts"
import { type ClientChoice, clientConditions, eventsWithin, isMac, requestSql } from "./DetectionConditions.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { compileFilterSql } from "./FilterSql.ts"
import { makeSqlParams, type SqlParams, type SqlParamValue, sqlTime } from "./SqlParams.ts"

/** The address that each of an event's fields holds, without those that hold none. */
const addresses = "arrayFilter(ip -> ip != toIPv6('::'), [assigned_ip, client_ip, requested_ip])"

/** What a filter that needs no event asks, in the columns that events and rollups have in common. */
const sharedColumns = {
  ...dhcpEventColumns,
  client_mac: { sql: `if(${isMac}, client, '')`, storage: "string" }
} as const

const timeOf = { dhcp_activity_1h: "hour", dhcp_activity_1d: "day" } as const

const all = (conditions: ReadonlyArray<string>): string => conditions.join(" AND ")

/** Buckets are named by the instant after which they begin. */
const within = ({ after_ms, source, through_ms }: Piece, params: SqlParams): string => {
  const bind = (ms: number) => params.bind("DateTime64(3, 'UTC')", sqlTime(new Date(ms).toISOString()))
  const [after, through] = [bind(after_ms), bind(through_ms)]
  if (source === "dhcp_events") return all(eventsWithin(after, through))
  const time = timeOf[source]
  return all([`${time} >= ${after}`, `${time} < ${through}`])
}

/** The pieces of each source in one condition, with the protocol. */
const bySource = (rule: Detector, plan: DetectionPlan, params: SqlParams) => {
  const sources = new Map<ActivitySource, Array<string>>()
  for (const piece of plan) {
    const conditions = sources.get(piece.source) ?? []
    conditions.push(`(${within(piece, params)})`)
    sources.set(piece.source, conditions)
  }
  const ofProtocol = rule.protocol === "both" ? [] : [`protocol = '${rule.protocol}'`]
  return Array.from(sources, ([source, times]) => ({
    source,
    conditions: [...ofProtocol, times.length === 1 ? times[0]! : `(${times.join("\n  OR ")})`]
  }))
}

/** The activity of clients in the pieces of a plan: `protocol` of both, `client`, `requests`, `duid`, `addresses`. */
export const activitySql = (rule: Detector, plan: DetectionPlan, choice: ClientChoice, params: SqlParams): string => {
  const sources = bySource(rule, plan, params)
  const { filter } = rule
  const clients = [
    ...clientConditions(rule, choice, params),
    ...(filter === undefined || filter.rules.length === 0 ? [] : [compileFilterSql(filter, sharedColumns, params)])
  ]
  const client = rule.protocol === "both" ? "protocol, client" : "client"
  const duid = rule.protocol !== "dhcpv4"
  return sources.map(({ conditions, source }) => {
    const where = [...conditions, ...clients].join("\n  AND ")
    return source === "dhcp_events"
      ? `SELECT ${client}, countIf(${requestSql(rule)}) AS requests, ${
        duid ? "max(dhcp_events.duid) AS duid, " : ""
      }uniqExactArrayState(${addresses}) AS addresses
FROM dhcp_events
WHERE ${where}
GROUP BY ${client}`
      : `SELECT ${client}, requests, ${duid ? "duid, " : ""}addresses
FROM ${source}
WHERE ${where}`
  }).join("\nUNION ALL\n")
}

/** How many rows of each table a plan would read, by the primary keys alone: `table` and `rows`. */
export const compileEstimate = (
  rule: Detector,
  plan: DetectionPlan
): { readonly query: string; readonly params: Readonly<Record<string, SqlParamValue>> } => {
  const params = makeSqlParams()
  const reads = bySource(rule, plan, params).map(({ conditions, source }) =>
    `SELECT 1 FROM ${source} WHERE ${all(conditions)}`
  )
  return { query: `EXPLAIN ESTIMATE ${reads.join(" UNION ALL ")}`, params: params.values }
}
