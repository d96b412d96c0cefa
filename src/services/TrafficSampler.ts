import { Clock, Context, Duration, Effect, Ref, Schedule } from "effect"
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

/** Reads the traffic counters of the packet filter every 10 seconds, and doesn't end. */
export const sampleTraffic = (node: string, uplink: string | undefined) =>
  Effect.flatMap(makeSampler(node, uplink), (sample) =>
    sample.pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("traffic sample skipped", cause)),
      Effect.repeat({ schedule: Schedule.fixed(samplingInterval), while: () => true }),
      Effect.asVoid
    ))
