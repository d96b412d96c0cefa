import { Clock, Context, Data, Duration, Effect, type Either, Fiber, Layer, Stream } from "effect"
import type { IngestVerdict } from "../schema/IngestVerdict.ts"
import { BatchStore, BatchStoreLive } from "./BatchStore.ts"
import { decodeEventLine } from "./DhcpEventLine.ts"
import { DhcpEvents, type EventStoreFailed } from "./DhcpEvents.ts"
import { eventWindow } from "./EventWindow.ts"
import { Ids } from "./Ids.ts"
import { IngestBatches, type LineBatch } from "./IngestBatches.ts"
import { makeLineSplitter } from "./NdjsonLines.ts"

/** How many refused lines a verdict names. */
export const errorsMax = 100

/** The store failed: the verdict is on the lines before `resumeLine`, those from it on are not dealt with. */
export class IngestStopped extends Data.TaggedError("Ingest/IngestStopped")<{
  readonly verdict: IngestVerdict
  readonly resumeLine: number
  readonly cause: unknown
}> {}

/**
 * Takes streams of events, a JSON object a line, of any length at a bounded use of memory. Every line is judged alone;
 * a line that is counted as accepted is stored.
 */
export class Ingest extends Context.Tag("services/Ingest")<
  Ingest,
  {
    /** The same octets under the same `key` are stored once. */
    readonly lines: <E>(
      octets: Stream.Stream<Uint8Array, E>,
      key?: string | undefined
    ) => Effect.Effect<IngestVerdict, IngestStopped | E>
  }
>() {}

const day = Duration.toMillis("1 day")

const add = (verdict: IngestVerdict, batch: LineBatch<unknown>): IngestVerdict => ({
  accepted: verdict.accepted + batch.events.length,
  rejected: verdict.rejected + batch.rejected,
  errors: verdict.errors.length < errorsMax
    ? [...verdict.errors, ...batch.errors].slice(0, errorsMax)
    : verdict.errors
})

/** What differs between kinds of events: how a line is read, and where its event goes. */
export interface IngestKind<Event> {
  readonly decodeLine: (line: string) => Either.Either<Event, string>
  /** Stores events, once however often they come under one token. */
  readonly store: (events: ReadonlyArray<Event>, token: string) => Effect.Effect<void, EventStoreFailed>
  /** Days for which events are kept: older ones are refused. */
  readonly retentionDays: Effect.Effect<number, EventStoreFailed>
}

/** The ingest of one kind of events. */
export const makeIngest = <Event extends { readonly event_time: string }>(kind: IngestKind<Event>) =>
  Effect.gen(function*() {
    const ids = yield* Ids

    const store = ({ events }: LineBatch<Event>, token: string): Effect.Effect<void, EventStoreFailed> =>
      events.length === 0 ? Effect.void : kind.store(events, token)

    const lines = <E>(octets: Stream.Stream<Uint8Array, E>, key?: string) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        // The stream may run in fibers of its own, whose end must not end an insert.
        const running = yield* Effect.scope
        // Repeating an insert is safe under its token, also where the caller brings no key.
        const scope = key ?? (yield* ids.uuid)
        let verdict: IngestVerdict = { accepted: 0, rejected: 0, errors: [] }
        let pending:
          | { readonly batch: LineBatch<Event>; readonly fiber: Fiber.Fiber<void, EventStoreFailed> }
          | undefined

        const stopped = (resumeLine: number, cause: unknown) => new IngestStopped({ verdict, resumeLine, cause })
        const keptDays = yield* Effect.mapError(kind.retentionDays, (cause) => stopped(1, cause))
        const window = eventWindow(now, now - keptDays * day)
        const batches = new IngestBatches(kind.decodeLine, window, key !== undefined)
        const splitter = makeLineSplitter()

        const settle = Effect.suspend(() => {
          if (pending === undefined) return Effect.void
          const { batch, fiber } = pending
          pending = undefined
          return Fiber.join(fiber).pipe(
            Effect.mapError((cause) => stopped(batch.firstLine, cause)),
            Effect.tap(() =>
              Effect.sync(() => {
                verdict = add(verdict, batch)
              })
            )
          )
        })
        // One batch is stored while the next is decoded; a slower store holds the sender back.
        const flush = Effect.fnUntraced(function*(batch: LineBatch<Event>) {
          yield* settle
          const fiber = yield* Effect.forkIn(store(batch, `${scope}:${batch.firstLine}:${batch.digest}`), running)
          pending = { batch, fiber }
        })
        const take = (ready: ReadonlyArray<LineBatch<Event>>) => Effect.forEach(ready, flush, { discard: true })

        yield* Stream.runForEach(octets, (chunk) => Effect.suspend(() => take(batches.push(splitter.push(chunk)))))
        yield* take(batches.push(splitter.end()))
        yield* take(batches.end())
        yield* settle
        return verdict
      }).pipe(Effect.scoped, Effect.withSpan("Ingest.lines"))

    return { lines }
  })

export const IngestLive = Layer.effect(
  Ingest,
  Effect.gen(function*() {
    const { retentionDays } = yield* DhcpEvents
    const { store } = yield* BatchStore
    return yield* makeIngest({ decodeLine: decodeEventLine, store, retentionDays })
  })
).pipe(Layer.provide(BatchStoreLive))
