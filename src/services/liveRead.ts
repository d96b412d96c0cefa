import { Effect } from "effect"
import type { DhcpEventFilter } from "../schema/FilterFields.ts"
import { afterBatch, type StreamPosition, wholeBatch } from "../schema/StreamPosition.ts"
import { BatchLedger, type LedgerPage, type PlacedBatch } from "./BatchLedger.ts"
import { DhcpEvents } from "./DhcpEvents.ts"
import type { LiveEvent } from "./liveWatcher.ts"

/** What was read after a position, and up to where. */
export interface LiveChunk {
  readonly events: ReadonlyArray<LiveEvent>
  readonly reached: StreamPosition
}

/** Batches that one look at the ledger gives. */
export const ledgerMax = 500

/** The batches after a position; that of the position itself where its rows are not all told. */
export const lookAfter = (from: StreamPosition) =>
  Effect.flatMap(BatchLedger, (ledger) =>
    Effect.tap(
      ledger.read(from.row === wholeBatch ? from.place : from.place - 1, ledgerMax),
      ({ overdue }) => overdue ? ledger.reap : Effect.void
    ))

/** Whether what came after the position is forgotten in part, or the position is none that was ever given. */
export const isLost = (from: StreamPosition, { horizon, settled }: LedgerPage): boolean =>
  from.place > settled || from.place < horizon || (from.place === horizon && from.row !== wholeBatch)

/** The first batches that together hold about so many events, as long as their numbers rise. */
const firstOf = (batches: ReadonlyArray<PlacedBatch>, limit: number): ReadonlyArray<PlacedBatch> => {
  let events = 0
  const end = batches.findIndex((batch, index) => {
    if (index > 0 && (events >= limit || batch.number < batches[index - 1]!.number)) return true
    events += batch.events
    return false
  })
  return end === -1 ? batches : batches.slice(0, end)
}

/** At most `limit` of the events after a position that a filter matches, out of the batches of a page. */
export const readChunk = Effect.fnUntraced(function*(
  from: StreamPosition,
  page: LedgerPage,
  limit: number,
  filter?: DhcpEventFilter
): Effect.fn.Return<LiveChunk, never, DhcpEvents> {
  const first = page.batches[0]
  if (first === undefined) return { events: [], reached: afterBatch(Math.max(from.place, page.settled)) }
  const events = yield* DhcpEvents
  const batches = firstOf(page.batches, limit)
  const places = new Map(batches.map(({ number, place }) => [number, place]))
  const partly = first.place === from.place && from.row !== wholeBatch
  const after = partly ? { batch: first.number, row: from.row } : undefined
  const rows = yield* events.batched({ batches, after, filter, limit })
  const read = rows.map(({ batch, event, row }): LiveEvent => ({
    position: { place: places.get(batch)!, row },
    id: `${batch}-${row}`,
    event
  }))
  if (read.length === limit) return { events: read, reached: read.at(-1)!.position }
  const all = batches.length === page.batches.length && page.batches.length < ledgerMax
  return { events: read, reached: afterBatch(all ? page.settled : batches.at(-1)!.place) }
})
