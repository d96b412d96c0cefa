import { Effect, Layer, Ref } from "effect"
import type { Detector } from "../../src/schema/AutomationRule.ts"
import type { DetectedMac, Window } from "../../src/schema/Detection.ts"
import { clientOf, type DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { inRange, ipOctets, parseCidr } from "../../src/schema/Ip.ts"
import { isRandomizedMac } from "../../src/schema/Mac.ts"
import { isRequestOf, protocolsOf, reaches } from "../../src/services/DetectionRules.ts"
import { type Detected, Detections } from "../../src/services/Detections.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { EventMemory } from "./DhcpEventsMemory.ts"

const keyOf = (event: DhcpEvent) => `${event.protocol} ${clientOf(event)}`

const grouped = (events: ReadonlyArray<DhcpEvent>): ReadonlyMap<string, ReadonlyArray<DhcpEvent>> => {
  const groups = new Map<string, Array<DhcpEvent>>()
  for (const event of events) groups.set(keyOf(event), [...groups.get(keyOf(event)) ?? [], event])
  return groups
}

const figuresOf = (events: ReadonlyArray<DhcpEvent>): DetectedMac => {
  const { client_mac, protocol } = events[0]!
  const addresses = events.flatMap(({ assigned_ip, client_ip, requested_ip }) => [assigned_ip, client_ip, requested_ip])
  const duids = events.map(({ duid }) => duid ?? "").sort()
  return {
    MAC: client_mac ?? "",
    DUID: protocol === "dhcpv6" || client_mac === undefined ? duids.at(-1)! : "",
    TotalRequests: events.filter(isRequestOf).length,
    UniqueIPs: new Set(addresses.filter((ip) => ip !== undefined)).size,
    Protocol: protocol
  }
}

/** Whether the rule leaves the client out, by all its events of the window. */
const isExcluded = ({ exclude = {} }: Detector, events: ReadonlyArray<DhcpEvent>): boolean => {
  const mac: string = events[0]!.client_mac ?? ""
  const ranges = (exclude.subnets ?? []).map((subnet) => parseCidr(subnet)!)
  const within = (ip: string | undefined) => {
    const octets = ip === undefined ? undefined : ipOctets(ip)
    const family = ip?.includes(":")
    return octets !== undefined && ranges.some((range) => range.text.includes(":") === family && inRange(range, octets))
  }
  return (mac !== "" && (
    (exclude.macs ?? []).some((excluded) => excluded === mac) ||
    (exclude.ouis ?? []).some((oui) => mac.startsWith(oui)) ||
    (exclude.randomized === true && isRandomizedMac(mac))
  )) || events.some((event) => within(event.relay_ip) || (!isRequestOf(event) && within(event.assigned_ip)))
}

const text = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const mostFirst = (a: DetectedMac, b: DetectedMac): number =>
  b.TotalRequests - a.TotalRequests || b.UniqueIPs - a.UniqueIPs || text(a.Protocol, b.Protocol) ||
  text(a.MAC || a.DUID, b.MAC || b.DUID)

/** The clients of these events that the rule detects, without a limit. */
export const detectedAmong = (
  rule: Detector,
  window: Window,
  events: ReadonlyArray<DhcpEvent>
): ReadonlyArray<DetectedMac> => {
  const [start, end] = [window.start.toISOString(), window.end.toISOString()]
  const matches = rule.filter === undefined ? () => true : compileDhcpEventPredicate(rule.filter)
  const counts = (event: DhcpEvent) =>
    (rule.message_types === undefined || rule.message_types.includes(event.message_type)) && matches(event)
  const seen = events.filter(({ event_time, protocol }) =>
    event_time > start && event_time <= end && protocolsOf(rule).includes(protocol)
  )
  return [...grouped(seen).values()]
    .filter((all) => !isExcluded(rule, all))
    .map((all) => all.filter(counts))
    .filter((counted) => counted.length > 0)
    .map(figuresOf)
    .filter((figures) => reaches(rule.threshold, figures))
    .sort(mostFirst)
}

/** Detections over the events in memory; the query is a word, the time none. */
export const DetectionsMemory = Layer.effect(
  Detections,
  Effect.map(EventMemory, (memory) => {
    const evaluate = (rule: Detector, window: Window, takes: (client: string) => boolean) =>
      Effect.map(Ref.get(memory), ({ rows }): Detected => {
        const events = rows.map(({ event }) => event).filter((event) => takes(clientOf(event)))
        const detected = detectedAmong(rule, window, events)
        return {
          rows: detected.slice(0, rule.max_detections),
          total: detected.length,
          query: "memory",
          params: {},
          elapsedMs: 0
        }
      })
    return Detections.of({
      detect: (rule, window, except) => evaluate(rule, window, (client) => !except.includes(client)),
      detectOnly: (rule, window, clients) => evaluate(rule, window, (client) => clients.includes(client))
    })
  })
)
