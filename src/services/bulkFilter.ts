import type { BulkCriteria } from "../schema/BulkCriteria.ts"
import type { FilterGroup, FilterRule, TextKind } from "../schema/Filter.ts"
import type { DhcpEventFilterField } from "../schema/FilterFields.ts"

type Rule = FilterRule<DhcpEventFilterField>
type Group = FilterGroup<DhcpEventFilterField>

const text = (
  field: DhcpEventFilterField,
  kind: TextKind,
  op: "in" | "starts_with",
  values: ReadonlyArray<string>
): Rule => ({ _tag: "Text", field, kind, op, values, negate: false })

const any = (rules: ReadonlyArray<Rule>): Group => ({ _tag: "Group", match: "any", rules })

const addresses = ["assigned_ip", "client_ip", "requested_ip"] as const

/** Whether the criteria can only be answered by looking at the observed traffic. */
export const asksTraffic = ({ macs: _, rule_id: __, ...traffic }: BulkCriteria): boolean =>
  Object.values(traffic).some((value) => value !== undefined)

/** The events that make a client match, but for the number of its requests; `only` are the clients to choose among. */
export const bulkFilter = (criteria: BulkCriteria, only: ReadonlyArray<string> | undefined): Group => {
  const { duids, filter, hostnames, mac_prefixes, macs, protocol, seen_before, seen_since, subnets, vendor_classes } =
    criteria
  const time = (op: "gte" | "lt", value: string): Rule => ({
    _tag: "Time",
    field: "event_time",
    kind: "time",
    op,
    values: [value],
    negate: false
  })
  const rules: Array<Rule | Group> = [
    ...(protocol === undefined ? [] : [text("protocol", "enum", "in", [protocol])]),
    ...(seen_since === undefined ? [] : [time("gte", seen_since)]),
    ...(seen_before === undefined ? [] : [time("lt", seen_before)]),
    ...(macs === undefined ? [] : [text("client", "client", "in", macs)]),
    ...(only === undefined ? [] : [text("client", "client", "in", only)]),
    ...(duids === undefined ? [] : [text("duid", "duid", "in", duids)]),
    ...(mac_prefixes === undefined
      ? []
      : [any(mac_prefixes.map((prefix) => text("client_mac", "mac", "starts_with", [prefix])))]),
    ...(hostnames === undefined ? [] : [text("hostname", "text", "in", hostnames)]),
    ...(vendor_classes === undefined ? [] : [text("vendor_class", "text", "in", vendor_classes)]),
    ...(subnets === undefined ? [] : [any(addresses.map((field) => ({
      _tag: "Ip",
      field,
      kind: "ip",
      op: "cidr",
      values: subnets,
      negate: false
    })))]),
    ...(filter === undefined ? [] : [filter])
  ]
  return { _tag: "Group", match: "all", rules }
}
