import { clientOf, type DhcpEvent, protocols } from "../../src/schema/DhcpEvent.ts"
import type { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import type { Aggregate } from "../../src/schema/MetricsQuery.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import type { AlarmCounts, MetricRequest, Point, TrafficStep, UniqueIps } from "../../src/services/Metrics.ts"
import type { TrafficSample } from "../../src/services/TrafficSampler.ts"

const combined = (values: ReadonlyArray<number>, aggregate: Aggregate): number => {
  const sum = values.reduce((total, value) => total + value, 0)
  switch (aggregate) {
    case "sum":
      return sum
    case "avg":
      return sum / values.length
    case "min":
      return Math.min(...values)
    case "count":
      return values.length
    case "last":
      return values.at(-1)!
    default:
      return Math.max(...values)
  }
}

const widthOf = (step_s: number, aggregate: Aggregate): number => {
  if (aggregate === "uniq") return step_s
  return step_s % 3600 === 0 ? 3600 : step_s % 60 === 0 ? 60 : step_s
}

/** Distinct addresses by definition, from the events of the query. */
export const uniqueIpsOf = (
  { except, filter, query }: MetricRequest<DhcpEventFilter>,
  events: ReadonlyArray<DhcpEvent>
): UniqueIps["series"] => {
  const matches = filter === undefined ? () => true : compileDhcpEventPredicate(filter)
  const width_ms = widthOf(query.step_s, query.aggregate) * 1000
  const step_ms = query.step_s * 1000
  return protocols.flatMap((protocol) => {
    if (query.protocol !== "all" && query.protocol !== protocol) return []
    const intervals = new Map<number, Set<string>>()
    for (const event of events) {
      const time = Date.parse(event.event_time)
      if (event.protocol !== protocol || time < query.start_ms || time >= query.end_ms) continue
      if (!matches(event) || except.includes(clientOf(event))) continue
      const at = Math.floor(time / width_ms) * width_ms
      const addresses = intervals.get(at) ?? new Set()
      intervals.set(at, addresses)
      for (const ip of [event.assigned_ip, event.client_ip, event.requested_ip]) {
        if (ip !== undefined && (ip as string) !== "::" && (ip as string) !== "0.0.0.0") addresses.add(ip)
      }
    }
    const steps = new Map<number, Array<number>>()
    for (const [at, { size }] of [...intervals].sort(([a], [b]) => a - b)) {
      const step = Math.floor(at / step_ms) * step_ms
      steps.set(step, [...steps.get(step) ?? [], size])
    }
    const points = Array.from(steps, ([step, values]): Point => [step, combined(values, query.aggregate)])
    return points.length === 0 ? [] : [{ protocol, points }]
  })
}

export type AlarmStatus = "firing" | "acknowledged" | "resolved"

/** A change of an alarm's status, as it is appended. */
export interface Transition {
  readonly at_ms: number
  readonly alarm_id: string
  readonly rule_id: string
  readonly client: string
  readonly severity: "info" | "warning" | "critical"
  readonly to_status: AlarmStatus
}

const life: ReadonlyArray<AlarmStatus> = ["firing", "acknowledged", "resolved"]

/** Alarms by status, by definition; filters are left to the engine. */
export const alarmCountsOf = (
  { except, query: { end_ms, start_ms } }: MetricRequest<unknown>,
  transitions: ReadonlyArray<Transition>
): AlarmCounts => {
  const alarms = new Map<string, Array<Transition>>()
  for (const one of transitions) {
    if (one.at_ms < end_ms && !except.includes(one.client)) {
      alarms.set(one.alarm_id, [...alarms.get(one.alarm_id) ?? [], one])
    }
  }
  const states = [...alarms.values()].map((all) => {
    const sorted = [...all].sort((a, b) => a.at_ms - b.at_ms || life.indexOf(a.to_status) - life.indexOf(b.to_status))
    const last = sorted.at(-1)!
    const resolved = sorted.some(({ at_ms, to_status }) => to_status === "resolved" && at_ms >= start_ms)
    return { status: last.to_status, resolved, touched: last.at_ms >= start_ms || last.to_status !== "resolved" }
  })
  return {
    firing: states.filter(({ status }) => status === "firing").length,
    acknowledged: states.filter(({ status }) => status === "acknowledged").length,
    resolved: states.filter(({ resolved }) => resolved).length,
    total: states.filter(({ touched }) => touched).length
  }
}

/** Octets of each step, by definition. */
export const trafficOf = (
  { query: { end_ms, start_ms, step_s } }: MetricRequest<unknown>,
  samples: ReadonlyArray<TrafficSample>
): ReadonlyArray<TrafficStep> => {
  const steps = new Map<number, TrafficStep>()
  for (const { at_ms, inbound_bytes, outbound_bytes } of [...samples].sort((a, b) => a.at_ms - b.at_ms)) {
    if (at_ms < start_ms || at_ms >= end_ms) continue
    const time_ms = Math.floor(at_ms / (step_s * 1000)) * step_s * 1000
    const step = steps.get(time_ms) ?? { time_ms, inbound_bytes: 0, outbound_bytes: 0 }
    steps.set(time_ms, {
      time_ms,
      inbound_bytes: step.inbound_bytes + inbound_bytes,
      outbound_bytes: step.outbound_bytes + outbound_bytes
    })
  }
  return [...steps.values()]
}
