import { Context, Effect, Layer, Ref } from "effect"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { encodeCursor } from "../../src/schema/Page.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { DhcpEvents, type EventPosition } from "../../src/services/DhcpEvents.ts"

/** An event as it was stored, with its place. */
export interface StoredRow extends EventPosition {
  readonly event: DhcpEvent
}

interface State {
  readonly rows: ReadonlyArray<StoredRow>
  readonly tokens: ReadonlySet<string>
}

/** The events that the memory layers of one test share. */
export class EventMemory extends Context.Tag("test/EventMemory")<EventMemory, Ref.Ref<State>>() {
  static readonly layer = Layer.effect(EventMemory, Ref.make<State>({ rows: [], tokens: new Set() }))
}

const unspecified: ReadonlyArray<unknown> = ["", "::", "0.0.0.0"]

/** What a store gives back of an event: empty texts and unspecified addresses are absent. */
export const storedForm = (event: DhcpEvent): DhcpEvent =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => !unspecified.includes(value))) as unknown as DhcpEvent

const keysOf = ({ batch, event_time, row }: EventPosition) => [event_time, batch, row] as const

const newestFirst = (a: EventPosition, b: EventPosition): number =>
  a.event_time < b.event_time ? 1 : a.event_time > b.event_time ? -1 : b.batch - a.batch || b.row - a.row

/** Events in memory, kept for 30 days by word alone. */
export const DhcpEventsMemory = Layer.effect(
  DhcpEvents,
  Effect.map(EventMemory, (memory) =>
    DhcpEvents.of({
      append: ({ deduplicationToken: token, events, number }) =>
        Ref.update(memory, (state) =>
          token !== undefined && state.tokens.has(token) ? state : {
            rows: [
              ...state.rows,
              ...events.map((event, row) => ({
                event: storedForm(event),
                event_time: event.event_time,
                batch: number,
                row
              }))
            ],
            tokens: token === undefined ? state.tokens : new Set([...state.tokens, token])
          }),
      list: ({ after, count, end, filter, limit, start }) =>
        Effect.map(Ref.get(memory), ({ rows }) => {
          const matches = filter === undefined ? () => true : compileDhcpEventPredicate(filter)
          const [from, to] = [start.toISOString(), end.toISOString()]
          const all = rows
            .filter(({ event, event_time }) => event_time > from && event_time <= to && matches(event))
            .sort(newestFirst)
          const rest = after === undefined ? all : all.filter((row) => newestFirst(row, after) > 0)
          const page = rest.slice(0, limit)
          const last = page.at(-1)
          return {
            items: page.map(({ batch, event, row }) => ({ ...event, id: `${batch}-${row}` })),
            total: count ? all.length : null,
            next: rest.length > limit && last !== undefined ? encodeCursor(keysOf(last)) : null
          }
        }),
      batched: ({ after, batches, filter, limit }) =>
        Effect.map(Ref.get(memory), ({ rows }) => {
          const matches = filter === undefined ? () => true : compileDhcpEventPredicate(filter)
          const numbers = batches.map(({ number }) => number)
          return rows
            .filter(({ batch, event, row }) =>
              numbers.includes(batch) && matches(event) &&
              (after === undefined || batch > after.batch || (batch === after.batch && row > after.row))
            )
            .sort((a, b) => a.batch - b.batch || a.row - b.row)
            .slice(0, limit)
            .map(({ batch, event, row }) => ({ batch, row, event }))
        }),
      countMatches: ({ end, filter, start }) =>
        Effect.map(Ref.get(memory), ({ rows }) => {
          const matches = compileDhcpEventPredicate(filter)
          const [from, to] = [start.toISOString(), end.toISOString()]
          const all = rows.filter(({ event_time }) => event_time > from && event_time <= to)
          return { matched: all.filter(({ event }) => matches(event)).length, total: all.length }
        }),
      retentionDays: Effect.succeed(30)
    }))
)
