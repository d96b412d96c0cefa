import { Clock, Config, Context, Duration, Effect, Layer, Ref, Schedule } from "effect"
import { hostname } from "node:os"
import { Nft, type NftRejected, type NftUnavailable } from "./Nft.ts"
import {
  enforcementTable,
  meterCommands,
  meterTable,
  nothing,
  totalsOf,
  type Traffic,
  trafficBetween
} from "./TrafficCounters.ts"

/** What passed on one node since the sample before, at the end of that time. */
export interface TrafficSample extends Traffic {
  readonly at_ms: number
  readonly node: string
  /** The network namespace that the counters are of. */
  readonly target: string
}

/** Keeps what the sampler reads. A store that fails is a defect. */
export class TrafficSamples extends Context.Tag("services/TrafficSamples")<
  TrafficSamples,
  { readonly append: (sample: TrafficSample) => Effect.Effect<void> }
>() {}

/** How often counters are read. */
export const samplingInterval = Duration.seconds(10)

/** A reading of the counters of one table. */
interface Reading {
  readonly table: string
  readonly totals: Traffic
}

/** The counters of the enforcement, else those of a meter of our own, which is made where there is none. */
const read = (uplink: string | undefined): Effect.Effect<Reading, NftRejected | NftUnavailable, Nft> =>
  Effect.gen(function*() {
    const nft = yield* Nft
    for (const table of [enforcementTable, meterTable]) {
      const totals = totalsOf(yield* nft.counters(table))
      if (totals !== undefined) return { table: table.name, totals }
    }
    yield* nft.apply(meterCommands(uplink))
    return { table: meterTable.name, totals: nothing }
  })

/** Reads once and stores what passed since the reading before; the first one stores nothing. */
export const makeSampler = (node: string, uplink: string | undefined) =>
  Effect.gen(function*() {
    const nft = yield* Nft
    const samples = yield* TrafficSamples
    const last = yield* Ref.make<Reading | undefined>(undefined)
    return Effect.gen(function*() {
      const reading = yield* Effect.provideService(read(uplink), Nft, nft)
      const at_ms = yield* Clock.currentTimeMillis
      const before = yield* Ref.get(last)
      if (before !== undefined && before.table === reading.table) {
        yield* samples.append({
          at_ms,
          node,
          target: nft.target.name,
          ...trafficBetween(before.totals, reading.totals)
        })
      }
      // Not before it is stored: what a failed append didn't keep is in the next difference.
      yield* Ref.set(last, reading)
    })
  })

/**
 * Reads the traffic counters of the packet filter every 10 seconds, in the background. `NETOPS_UPLINK_INTERFACE` names
 * the interface to the outside of a host that forwards.
 */
export const TrafficSamplerLive = Layer.scopedDiscard(
  Effect.gen(function*() {
    const uplink = yield* Config.nonEmptyString("NETOPS_UPLINK_INTERFACE").pipe(
      Config.validate({
        message: "NETOPS_UPLINK_INTERFACE must be the name of an interface",
        validation: (name) => /^[A-Za-z0-9][A-Za-z0-9._@-]{0,14}$/.test(name)
      }),
      Config.withDefault(undefined)
    )
    const sample = yield* makeSampler(hostname(), uplink)
    yield* sample.pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("traffic sample skipped", cause)),
      Effect.repeat(Schedule.fixed(samplingInterval)),
      Effect.forkScoped
    )
  })
)
