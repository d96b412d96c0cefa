import type { Detector } from "../../schema/AutomationRule.ts"
import { type Protocol, requestTypes } from "../../schema/DhcpEvent.ts"
import type { DhcpEventFilterField } from "../../schema/FilterFields.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { compileFilterSql } from "./FilterSql.ts"
import type { SqlParams } from "./SqlParams.ts"

/** Clients, by MAC or DUID, that are left out, or that alone are looked at. */
export interface ClientChoice {
  readonly except?: ReadonlyArray<string>
  readonly only?: ReadonlyArray<string>
}

/** The message types of requests by protocol, as plain texts. */
export const types: Readonly<Record<Protocol, ReadonlyArray<string>>> = requestTypes
const isOneOf = (texts: ReadonlyArray<string>): string => `IN (${texts.map((text) => `'${text}'`).join(", ")})`

/** Whether an event is a request. */
export const requestSql = (rule: Detector): string =>
  rule.protocol === "both"
    ? `if(protocol = 'dhcpv4', message_type ${isOneOf(types.dhcpv4)}, message_type ${isOneOf(types.dhcpv6)})`
    : `message_type ${isOneOf(types[rule.protocol])}`

/** `client` is the MAC of a client that has one, and DUIDs hold no colon: this spares reading `client_mac`. */
export const isMac = "substring(client, 3, 1) = ':'"
// The second hexadecimal digits in which IEEE's locally administered bit is set.
const randomized = `(${isMac} AND substring(client, 2, 1) IN ('2', '3', '6', '7', 'a', 'b', 'e', 'f'))`

/** What `client NOT IN` and `IN` can decide: the choice, and exclusions by MAC. */
export const clientConditions = (
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
export const eventConditions = ({ filter, message_types }: Detector, params: SqlParams): ReadonlyArray<string> => [
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
export const excludedNetwork = (rule: Detector, params: SqlParams): string | undefined => {
  const subnets = rule.exclude?.subnets ?? []
  if (subnets.length === 0) return undefined
  const given = inSubnets("assigned_ip", subnets, params)
  return `(${inSubnets("relay_ip", subnets, params)} OR ${given} AND NOT (${requestSql(rule)}))`
}

/**
 * Events after one instant up to and including another, both in SQL. The hours are said too: the primary key goes by
 * them, and a condition on the time alone would read whole days.
 */
export const eventsWithin = (after: string, through: string): ReadonlyArray<string> => [
  `event_time > ${after}`,
  `event_time <= ${through}`,
  `toStartOfHour(event_time) >= toStartOfHour(${after})`,
  `toStartOfHour(event_time) <= toStartOfHour(${through})`
]
