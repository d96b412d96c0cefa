import type { Detector } from "../../schema/AutomationRule.ts"
import type { Window } from "../../schema/Detection.ts"
import { type Protocol, requestTypes } from "../../schema/DhcpEvent.ts"
import type { DhcpEventFilterField } from "../../schema/FilterFields.ts"
import { protocolsOf } from "../../services/DetectionRules.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { compileFilterSql } from "./FilterSql.ts"
import { makeSqlParams, type SqlParams, type SqlParamValue, sqlTime } from "./SqlParams.ts"

/** Clients, by MAC or DUID, that are left out, or that alone are looked at. */
export interface ClientChoice {
  readonly except?: ReadonlyArray<string>
  readonly only?: ReadonlyArray<string>
}

const types: Readonly<Record<Protocol, ReadonlyArray<string>>> = requestTypes
const isOneOf = (texts: ReadonlyArray<string>): string => `IN (${texts.map((text) => `'${text}'`).join(", ")})`

const requestSql = (rule: Detector): string =>
  rule.protocol === "both"
    ? `if(protocol = 'dhcpv4', message_type ${isOneOf(types.dhcpv4)}, message_type ${isOneOf(types.dhcpv6)})`
    : `message_type ${isOneOf(types[rule.protocol])}`

const requestsSql = (rule: Detector): string => {
  const allRequests = rule.message_types?.every((type) =>
    protocolsOf(rule).every((protocol) => types[protocol].includes(type))
  )
  return allRequests ? "count()" : `countIf(${requestSql(rule)})`
}

// `client` is the MAC of a client that has one, and DUIDs hold no colon: this spares reading `client_mac`.
const isMac = "substring(client, 3, 1) = ':'"
// The second hexadecimal digits in which IEEE's locally administered bit is set.
const randomized = `(${isMac} AND substring(client, 2, 1) IN ('2', '3', '6', '7', 'a', 'b', 'e', 'f'))`

// A DHCPv4 client is known by a DUID only where it has no MAC (RFC 4361).
const dhcpv4Duid = `if(${isMac}, '', client)`
const duidSql: Readonly<Record<Detector["protocol"], string>> = {
  dhcpv4: dhcpv4Duid,
  dhcpv6: "max(duid)",
  both: `if(protocol = 'dhcpv6', max(duid), ${dhcpv4Duid})`
}

const uniqueIps = "length(arrayFilter(ip -> ip != toIPv6('::'), " +
  "groupUniqArrayArray([assigned_ip, client_ip, requested_ip])))"

/** What `client NOT IN` and `IN` can decide: the choice, and exclusions by MAC. */
const clientConditions = (
  { exclude: { macs = [], ouis = [], randomized: leavesRandomized } = {} }: Detector,
  { except = [], only }: ClientChoice,
  params: SqlParams
): ReadonlyArray<string> => [
  ...(macs.length === 0 ? [] : [`client NOT IN ${params.bind("Array(String)", macs)}`]),
  ...(ouis.length === 0 ? [] : [`substring(client, 1, 8) NOT IN ${params.bind("Array(String)", ouis)}`]),
  ...(leavesRandomized === true ? [`NOT ${randomized}`] : []),
  ...(except.length === 0 ? [] : [`client NOT IN ${params.bind("Array(String)", except)}`]),
  ...(only === undefined ? [] : [`client IN ${params.bind("Array(String)", only)}`])
]

/** What an event must be to count at all. */
const eventConditions = ({ filter, message_types }: Detector, params: SqlParams): ReadonlyArray<string> => [
  ...(message_types === undefined ? [] : [`message_type IN ${params.bind("Array(String)", message_types)}`]),
  ...(filter === undefined || filter.rules.length === 0 ? [] : [compileFilterSql(filter, dhcpEventColumns, params)])
]

const inSubnets = (
  field: Extract<DhcpEventFilterField, "relay_ip" | "assigned_ip">,
  subnets: ReadonlyArray<string>,
  params: SqlParams
): string =>
  compileFilterSql(
    {
      _tag: "Group",
      match: "all",
      rules: [{ _tag: "Ip", field, kind: "ip", op: "cidr", values: subnets, negate: false }]
    },
    dhcpEventColumns,
    params
  )

/** Whether an event shows that its client belongs to an excluded network. */
const excludedNetwork = (rule: Detector, params: SqlParams): string | undefined => {
  const subnets = rule.exclude?.subnets ?? []
  if (subnets.length === 0) return undefined
  const given = inSubnets("assigned_ip", subnets, params)
  return `(${inSubnets("relay_ip", subnets, params)} OR ${given} AND NOT (${requestSql(rule)}))`
}

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

/**
 * The clients that a rule detects in a window, those with most requests first: `Protocol`, `MAC`, `DUID` (of DHCPv6
 * the client's greatest, of DHCPv4 only where it has no MAC), `TotalRequests` and `UniqueIPs`. Exclusion by subnet
 * judges a client by all its events of the window in the same protocol, also by those that the rule doesn't count.
 */
export const compileDetection = (
  rule: Detector,
  window: Window,
  choice: ClientChoice,
  limit: number
): { readonly query: string; readonly params: Readonly<Record<string, SqlParamValue>> } => {
  const params = makeSqlParams()
  const both = rule.protocol === "both"
  const client = both ? "protocol, client" : "client"
  const key = both ? "(protocol, client)" : "client"
  const requests = requestsSql(rule)
  const inWindow = [
    "event_time > {start:DateTime64(3, 'UTC')}",
    "event_time <= {end:DateTime64(3, 'UTC')}",
    ...(both ? [] : [`protocol = '${rule.protocol}'`])
  ]
  const counted = eventConditions(rule, params)
  const where = all([...inWindow, ...counted, ...clientConditions(rule, choice, params)])
  const excluded = excludedNetwork(rule, params)
  // Where every event of the client counts, its own aggregation sees all that excludes it.
  const excludesAlong = excluded !== undefined && counted.length === 0
  const outer = [
    ...(preselects(rule, window)
      ? [`${key} IN (
    SELECT ${client}
    FROM matching
    GROUP BY ${client}
    HAVING ${requests} >= {min_requests:UInt64}
  )`]
      : []),
    ...(excluded === undefined || excludesAlong ? [] : [`${key} NOT IN (
    SELECT ${client}
    FROM dhcp_events
    WHERE ${indent(indent(all([...inWindow, excluded])))}
  )`])
  ]
  const having = [`(${thresholdSql(rule.threshold)})`, ...(excludesAlong ? [`countIf(${excluded}) = 0`] : [])]
  const matching = preselects(rule, window)
  const source = matching
    ? `FROM matching\nWHERE ${all(outer)}`
    : `FROM dhcp_events\nWHERE ${all([where, ...outer])}`
  const duid = duidSql[rule.protocol]
  return {
    query: `${matching ? `WITH matching AS (\n  SELECT *\n  FROM dhcp_events\n  WHERE ${indent(where)}\n)\n` : ""}SELECT
  ${both ? "protocol" : `'${rule.protocol}'`} AS Protocol,
  if(${isMac}, client, '') AS MAC,
  ${duid} AS DUID,
  ${requests} AS TotalRequests,
  ${uniqueIps} AS UniqueIPs
${source}
GROUP BY ${client}
HAVING ${all(having)}
ORDER BY TotalRequests DESC, UniqueIPs DESC, ${client}
LIMIT {limit:UInt64}`,
    params: {
      start: sqlTime(window.start.toISOString()),
      end: sqlTime(window.end.toISOString()),
      ...(rule.threshold.min_requests === undefined ? {} : { min_requests: rule.threshold.min_requests }),
      ...(rule.threshold.min_unique_ips === undefined ? {} : { min_unique_ips: rule.threshold.min_unique_ips }),
      ...params.values,
      limit
    }
  }
}
