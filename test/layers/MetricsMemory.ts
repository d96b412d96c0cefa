import { Context, Effect, Layer, Ref } from "effect"
import type { FirewallEvent } from "../../src/schema/FirewallEvent.ts"
import { FirewallEvents } from "../../src/services/FirewallEvents.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { type TrafficSample, TrafficSamples } from "../../src/services/TrafficSampler.ts"
import { alarmCountsOf, trafficOf, type Transition, uniqueIpsOf } from "../support/metricsModel.ts"
import { EventMemory } from "./DhcpEventsMemory.ts"

/** What the memory layers of the metrics share beside the events. */
export class ObservedMemory extends Context.Tag("test/ObservedMemory")<
  ObservedMemory,
  {
    readonly transitions: Array<Transition>
    readonly samples: Array<TrafficSample>
    readonly firewall: Array<FirewallEvent>
    readonly tokens: Set<string>
    /** How often a metric was computed. */
    computed: number
  }
>() {
  static readonly layer = Layer.sync(ObservedMemory, () => ({
    transitions: [],
    samples: [],
    firewall: [],
    tokens: new Set<string>(),
    computed: 0
  }))
}

/** Metrics by their definitions; filters on alarms and traffic are taken for none. */
export const MetricsMemory = Layer.effect(
  Metrics,
  Effect.gen(function*() {
    const events = yield* EventMemory
    const observed = yield* ObservedMemory
    const counted = <A>(effect: Effect.Effect<A>) =>
      Effect.suspend(() => {
        observed.computed += 1
        return effect
      })
    return Metrics.of({
      uniqueIps: (request) =>
        counted(Effect.map(Ref.get(events), ({ rows }) => ({
          rollup: "none",
          series: uniqueIpsOf(request, rows.map(({ event }) => event))
        }))),
      alarmStats: (request) => counted(Effect.sync(() => alarmCountsOf(request, observed.transitions))),
      traffic: (request) => counted(Effect.sync(() => trafficOf(request, observed.samples))),
      eventsKeptDays: Effect.succeed(30)
    })
  })
)

const placeOf = ({ at_ms, node, target }: TrafficSample) => `${node} ${target} ${at_ms}`

export const TrafficSamplesMemory = Layer.effect(
  TrafficSamples,
  Effect.map(ObservedMemory, ({ samples }) =>
    TrafficSamples.of({
      append: (sample) =>
        Effect.sync(() => {
          if (!samples.some((other) => placeOf(other) === placeOf(sample))) samples.push(sample)
        })
    }))
)

export const FirewallEventsMemory = Layer.effect(
  FirewallEvents,
  Effect.map(ObservedMemory, ({ firewall, tokens }) =>
    FirewallEvents.of({
      append: ({ deduplicationToken: token, events }) =>
        Effect.sync(() => {
          if (token !== undefined && tokens.has(token)) return
          if (token !== undefined) tokens.add(token)
          firewall.push(...events)
        }),
      retentionDays: Effect.succeed(14)
    }))
)
