import { Config, Effect, Layer } from "effect"
import { hostname } from "node:os"
import { sampleTraffic } from "../../services/TrafficSampler.ts"
import { singleton } from "./singleton.ts"

const uplink = Config.nonEmptyString("NETOPS_UPLINK_INTERFACE").pipe(
  Config.validate({
    message: "NETOPS_UPLINK_INTERFACE must be the name of an interface",
    validation: (name) => /^[A-Za-z0-9][A-Za-z0-9._@-]{0,14}$/.test(name)
  }),
  Config.withDefault(undefined)
)

/**
 * Samples the traffic counters of the packet filter on one of all nodes, since what two of them read of the same
 * counters would count twice. `NETOPS_UPLINK_INTERFACE` names the interface to the outside of a host that forwards.
 */
export const TrafficSamplerSingleton = Layer.unwrapEffect(
  Effect.map(uplink, (name) => singleton("traffic-sampler", sampleTraffic(hostname(), name)))
)
