import type { Detector } from "../../schema/AutomationRule.ts"
import type { Window } from "../../schema/Detection.ts"
import type { DetectionPlan } from "../../services/DetectionPlan.ts"
import { protocolsOf } from "../../services/DetectionRules.ts"
import { activitySql } from "./ActivitySql.ts"
import {
  type ClientChoice,
  clientConditions,
  eventConditions,
  eventsWithin,
  excludedNetwork,
  isMac,
  requestSql,
  types
} from "./DetectionConditions.ts"
import { makeSqlParams, type SqlParams, type SqlParamValue, sqlTime } from "./SqlParams.ts"

const requestsSql = (rule: Detector): string => {
  const allRequests = rule.message_types?.every((type) =>
    protocolsOf(rule).every((protocol) => types[protocol].includes(type))
  )
  return allRequests ? "count()" : `countIf(${requestSql(rule)})`
}

// A DHCPv4 client is known by a DUID only where it has no MAC (RFC 4361).
const dhcpv4Duid = `if(${isMac}, '', client)`
const duidSql: Readonly<Record<Detector["protocol"], string>> = {
  dhcpv4: dhcpv4Duid,
  dhcpv6: "max(duid)",
  both: `if(protocol = 'dhcpv6', max(duid), ${dhcpv4Duid})`
}

const uniqueIps = "length(arrayFilter(ip -> ip != toIPv6('::'), " +
  "groupUniqArrayArray([assigned_ip, client_ip, requested_ip])))"

const thresholdSql = ({ min_requests, min_unique_ips, operator }: Detector["threshold"]): string =>
  [
    ...(min_requests === undefined ? [] : ["TotalRequests >= {min_requests:UInt64}"]),
    ...(min_unique_ips === undefined ? [] : ["UniqueIPs >= {min_unique_ips:UInt64}"])
  ].join(operator === "and" ? " AND " : " OR ")

/** Far above what clients send that only renew their leases, so that few of them pass. */
const selective = { requests: 20, requestsPerHour: 10 } as const

/** Counting alone is cheap: where few clients send so much, the addresses of all others needn't be collected. */
const preselects = ({ threshold: { min_requests, min_unique_ips, operator } }: Detector, window: Window): boolean => {
  const hours = (window.end.getTime() - window.start.getTime()) / 3_600_000
  return min_requests !== undefined && (min_unique_ips === undefined || operator === "and") &&
    min_requests >= Math.max(selective.requests, selective.requestsPerHour * hours)
}

const indent = (text: string): string => text.replaceAll("\n", "\n  ")
const all = (conditions: ReadonlyArray<string>): string => conditions.join("\n  AND ")

const clientOf = ({ protocol }: Detector): string => protocol === "both" ? "protocol, client" : "client"
const keyOf = ({ protocol }: Detector): string => protocol === "both" ? "(protocol, client)" : "client"

/** Where clients come from, and how their figures are told from it. */
interface Source {
  readonly from: string
  readonly where: ReadonlyArray<string>
  readonly requests: string
  readonly uniqueIps: string
  readonly having: ReadonlyArray<string>
}

/** Every event of the window. */
const ofEvents = (rule: Detector, choice: ClientChoice, params: SqlParams): Source & {
  /** What depends on events that the rule doesn't count. */
  readonly beside: ReadonlyArray<string>
} => {
  const inWindow = [
    ...eventsWithin("{start:DateTime64(3, 'UTC')}", "{end:DateTime64(3, 'UTC')}"),
    ...(rule.protocol === "both" ? [] : [`protocol = '${rule.protocol}'`])
  ]
  const counted = eventConditions(rule, params)
  const where = [...inWindow, ...counted, ...clientConditions(rule, choice, params)]
  const excluded = excludedNetwork(rule, params)
  // Where every event of the client counts, its own aggregation sees all that excludes it.
  const excludesAlong = excluded !== undefined && counted.length === 0
  return {
    from: "dhcp_events",
    where,
    requests: requestsSql(rule),
    uniqueIps,
    having: excludesAlong ? [`countIf(${excluded}) = 0`] : [],
    beside: excluded === undefined || excludesAlong ? [] : [`${keyOf(rule)} NOT IN (
    SELECT ${clientOf(rule)}
    FROM dhcp_events
    WHERE ${indent(indent(all([...inWindow, excluded])))}
  )`]
  }
}

/** The sums of the window's whole hours and days, and those of the events around them. */
const ofActivity = (rule: Detector, plan: DetectionPlan, choice: ClientChoice, params: SqlParams): Source => ({
  from: `(\n  ${indent(activitySql(rule, plan, choice, params))}\n) AS activity`,
  where: [],
  requests: "sum(requests)",
  uniqueIps: "uniqExactArrayMerge(addresses)",
  having: []
})

const matchingFirst = (rule: Detector, { from, requests, where, ...source }: Source): Source & { with: string } => ({
  ...source,
  requests,
  with: `WITH matching AS (
  SELECT *
  FROM ${indent(from)}${where.length === 0 ? "" : `\n  WHERE ${indent(all(where))}`}
)
`,
  from: "matching",
  where: [`${keyOf(rule)} IN (
    SELECT ${clientOf(rule)}
    FROM matching
    GROUP BY ${clientOf(rule)}
    HAVING ${requests} >= {min_requests:UInt64}
  )`]
})

/**
 * The clients that a rule detects in a window, those with most requests first: `Protocol`, `MAC`, `DUID` (of DHCPv6
 * the client's greatest, of DHCPv4 only where it has no MAC), `TotalRequests` and `UniqueIPs`. Exclusion by subnet
 * judges a client by all its events of the window in the same protocol, also by those that the rule doesn't count.
 * A plan of more than events must be one that was made for the rule and window.
 */
export const compileDetection = (
  rule: Detector,
  window: Window,
  choice: ClientChoice,
  limit: number,
  plan?: DetectionPlan
): { readonly query: string; readonly params: Readonly<Record<string, SqlParamValue>> } => {
  const params = makeSqlParams()
  const planned = plan !== undefined && plan.some(({ source }) => source !== "dhcp_events") ? plan : undefined
  const events = planned === undefined ? ofEvents(rule, choice, params) : undefined
  const source = events ?? ofActivity(rule, planned!, choice, params)
  const { from, having, requests, uniqueIps, where, with: first = "" } = preselects(rule, window)
    ? matchingFirst(rule, source)
    : { ...source, with: undefined }
  const conditions = [...where, ...events?.beside ?? []]
  return {
    query: `${first}SELECT
  ${rule.protocol === "both" ? "protocol" : `'${rule.protocol}'`} AS Protocol,
  if(${isMac}, client, '') AS MAC,
  ${duidSql[rule.protocol]} AS DUID,
  ${requests} AS TotalRequests,
  ${uniqueIps} AS UniqueIPs
FROM ${from}${conditions.length === 0 ? "" : `\nWHERE ${all(conditions)}`}
GROUP BY ${clientOf(rule)}
HAVING ${all([`(${thresholdSql(rule.threshold)})`, ...having])}
ORDER BY TotalRequests DESC, UniqueIPs DESC, ${clientOf(rule)}
LIMIT {limit:UInt64}`,
    params: {
      ...(planned === undefined
        ? { start: sqlTime(window.start.toISOString()), end: sqlTime(window.end.toISOString()) }
        : {}),
      ...(rule.threshold.min_requests === undefined ? {} : { min_requests: rule.threshold.min_requests }),
      ...(rule.threshold.min_unique_ips === undefined ? {} : { min_unique_ips: rule.threshold.min_unique_ips }),
      ...params.values,
      limit
    }
  }
}
