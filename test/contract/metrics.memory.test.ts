import { Effect, Layer } from "effect"
import { DhcpEventsMemory, EventMemory } from "../layers/DhcpEventsMemory.ts"
import { FirewallEventsMemory, MetricsMemory, ObservedMemory, TrafficSamplesMemory } from "../layers/MetricsMemory.ts"
import { firewallEventsContract } from "./FirewallEvents.ts"
import { metricsContract } from "./Metrics.ts"
import { trafficSamplesContract } from "./TrafficSamples.ts"

const Memory = Layer.fresh(
  Layer.mergeAll(MetricsMemory, TrafficSamplesMemory, FirewallEventsMemory, DhcpEventsMemory).pipe(
    Layer.provideMerge(Layer.merge(ObservedMemory.layer, EventMemory.layer))
  )
)

metricsContract("memory", Memory, false, 100)
trafficSamplesContract("memory", Memory, 100)
firewallEventsContract("memory", Memory, Effect.map(ObservedMemory, ({ firewall }) => firewall), 100)
