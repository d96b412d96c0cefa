import { Effect, Layer } from "effect"
import { TrafficSamples } from "../../services/TrafficSampler.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { sqlTime } from "./SqlParams.ts"

/** Samples in the table `firewall_traffic`: repeating one of the same node and time adds nothing. */
export const TrafficSamplesClickHouse = Layer.effect(
  TrafficSamples,
  Effect.map(ClickHouse, (clickhouse) =>
    TrafficSamples.of({
      append: ({ at_ms, ...sample }) =>
        Effect.orDie(clickhouse.insert({
          table: "firewall_traffic",
          rows: [{ at: sqlTime(new Date(at_ms).toISOString()), ...sample }],
          deduplicationToken: `${sample.node} ${sample.target} ${at_ms}`
        }))
    }))
)
