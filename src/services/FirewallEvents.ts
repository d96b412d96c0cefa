import { Context, Effect, Layer, type Stream } from "effect"
import type { FirewallEvent } from "../schema/FirewallEvent.ts"
import type { IngestVerdict } from "../schema/IngestVerdict.ts"
import { BatchNumbers, type EventBatch, type EventStoreFailed, storeRetries } from "./DhcpEvents.ts"
import { decodeFirewallEventLine } from "./FirewallEventLine.ts"
import { type IngestStopped, makeIngest } from "./Ingest.ts"

/** What firewalls logged. */
export class FirewallEvents extends Context.Tag("services/FirewallEvents")<
  FirewallEvents,
  {
    readonly append: (batch: EventBatch<FirewallEvent>) => Effect.Effect<void, EventStoreFailed>
    /** Days for which events are kept. */
    readonly retentionDays: Effect.Effect<number, EventStoreFailed>
  }
>() {}

/** Takes streams of firewall events as `Ingest` takes those of DHCP. */
export class FirewallIngest extends Context.Tag("services/FirewallIngest")<
  FirewallIngest,
  {
    readonly lines: <E>(
      octets: Stream.Stream<Uint8Array, E>,
      key?: string | undefined
    ) => Effect.Effect<IngestVerdict, IngestStopped | E>
  }
>() {}

export const FirewallIngestLive = Layer.effect(
  FirewallIngest,
  Effect.gen(function*() {
    const { append, retentionDays } = yield* FirewallEvents
    const numbers = yield* BatchNumbers
    const store = (events: ReadonlyArray<FirewallEvent>, deduplicationToken: string) =>
      Effect.flatMap(numbers.next, (number) => append({ number, events, deduplicationToken })).pipe(
        Effect.retry(storeRetries)
      )
    return yield* makeIngest({ decodeLine: decodeFirewallEventLine, store, retentionDays })
  })
)
