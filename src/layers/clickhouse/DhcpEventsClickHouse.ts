import { Effect, Layer } from "effect"
import type { DhcpEvent } from "../../schema/DhcpEvent.ts"
import { encodeCursor } from "../../schema/Page.ts"
import {
  type BatchQuery,
  DhcpEvents,
  type EventBatch,
  type EventQuery,
  EventStoreFailed,
  type MatchCount
} from "../../services/DhcpEvents.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { type DhcpEventRow, fromRow } from "./DhcpEventRow.ts"
import { dhcpEventTsvColumns, toTsv } from "./DhcpEventTsv.ts"
import { compileFilterSql } from "./FilterSql.ts"
import { makeSqlParams, sqlTime } from "./SqlParams.ts"

const minute = 60_000
// Events lie by the hour: the newest of a long range are found much sooner by looking at its last minutes first.
const firstSlice = 5 * minute
const sliceGrowth = 12

interface Slice {
  readonly from: number
  readonly to: number
}

/** The range as slices that grow into the past, each after `from` up to and including `to`. */
const slicesOf = (start: number, end: number): ReadonlyArray<Slice> => {
  const slices: Array<Slice> = []
  let [to, length] = [end, firstSlice]
  while (to > start) {
    const from = Math.max(start, to - length)
    slices.push({ from, to })
    to = from
    length *= sliceGrowth
  }
  return slices
}

const sqlMillis = (millis: number): string => sqlTime(new Date(millis).toISOString())

const inSlice = "event_time > {from:DateTime64(3, 'UTC')} AND event_time <= {to:DateTime64(3, 'UTC')}"

const compileList = ({ after, end, filter, start }: EventQuery) => {
  const params = makeSqlParams()
  const matches = filter === undefined ? "" : `\n  AND ${compileFilterSql(filter, dhcpEventColumns, params)}`
  const place = "(event_time, batch, row)"
  const rest = after === undefined ? "" : `
  AND ${place} < ({event_time:DateTime64(3, 'UTC')}, {batch:UInt64}, {row:UInt32})`
  const position = after === undefined ? {} : { ...after, event_time: sqlTime(after.event_time) }
  const last = after === undefined ? end.getTime() : Math.min(end.getTime(), Date.parse(after.event_time))
  return {
    slices: slicesOf(start.getTime(), last),
    page: ({ from, to }: Slice, limit: number) => ({
      query: `SELECT *
FROM dhcp_events
WHERE ${inSlice}${matches}${rest}
ORDER BY event_time DESC, batch DESC, row DESC
LIMIT {limit:UInt64}`,
      params: { ...params.values, ...position, from: sqlMillis(from), to: sqlMillis(to), limit }
    }),
    total: {
      query: `SELECT count() AS total\nFROM dhcp_events\nWHERE ${inSlice}${matches}`,
      params: { ...params.values, from: sqlMillis(start.getTime()), to: sqlMillis(end.getTime()) }
    }
  }
}

const compileBatched = ({ after, batches, filter, limit }: BatchQuery) => {
  const params = makeSqlParams()
  const times = "DateTime64(3, 'UTC')"
  const from = batches.reduce((least, batch) => batch.from < least ? batch.from : least, batches[0]!.from)
  const to = batches.reduce((greatest, batch) => batch.to > greatest ? batch.to : greatest, batches[0]!.to)
  const conditions = [
    `batch IN ${params.bind("Array(UInt64)", batches.map(({ number }) => number))}`,
    // What the table is partitioned and sorted by, for ClickHouse to read no more than it must.
    `event_time BETWEEN ${params.bind(times, sqlTime(from))} AND ${params.bind(times, sqlTime(to))}`,
    ...(after === undefined
      ? []
      : [`(batch, row) > (${params.bind("UInt64", after.batch)}, ${params.bind("UInt32", after.row)})`]),
    ...(filter === undefined ? [] : [compileFilterSql(filter, dhcpEventColumns, params)])
  ]
  return {
    query: `SELECT *
FROM dhcp_events
WHERE ${conditions.join("\n  AND ")}
ORDER BY batch, row
LIMIT ${params.bind("UInt64", limit)}`,
    params: params.values
  }
}

/** How many events are written as text at a time, so that a batch isn't there once more as a whole. */
const pieceLength = 500

function* piecesOf(events: ReadonlyArray<DhcpEvent>, batch: number) {
  for (let start = 0; start < events.length; start += pieceLength) {
    const end = Math.min(events.length, start + pieceLength)
    let lines = ""
    for (let row = start; row < end; row++) lines += toTsv(events[row]!, batch, row)
    yield lines
  }
}

const retentionQuery = `SELECT engine_full
FROM system.tables
WHERE database = currentDatabase() AND name = 'dhcp_events'`

const daysOf = (rows: ReadonlyArray<unknown>): number | undefined => {
  const engine = (rows[0] as { readonly engine_full: string } | undefined)?.engine_full ?? ""
  const days = / TTL .*?\btoIntervalDay\((\d+)\)/.exec(engine)?.[1]
  return days === undefined ? undefined : Number(days)
}

/**
 * Events in the table `dhcp_events`. A batch lies in one part for each of its days, and each part is stored as a whole:
 * what a failed append left undone is added by repeating it with its token. A failing read is a defect that holds
 * the `ClickHouseError`.
 */
export const DhcpEventsClickHouse = Layer.effect(
  DhcpEvents,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse

    const append = ({ deduplicationToken, events, number }: EventBatch) =>
      events.length === 0 ? Effect.void : clickhouse.insert({
        table: "dhcp_events",
        rows: { columns: dhcpEventTsvColumns, lines: () => piecesOf(events, number) },
        settings: { max_partitions_per_insert_block: "0" },
        ...(deduplicationToken === undefined ? {} : { deduplicationToken })
      }).pipe(Effect.mapError((cause) => new EventStoreFailed({ cause })))

    const list = Effect.fn("DhcpEvents.list")(function*(query: EventQuery) {
      const { page, slices, total } = compileList(query)
      const found: Array<DhcpEventRow> = []
      for (const slice of slices) {
        const { rows } = yield* clickhouse.query(page(slice, query.limit + 1 - found.length))
        found.push(...rows as ReadonlyArray<DhcpEventRow>)
        if (found.length > query.limit) break
      }
      const counted = query.count ? (yield* clickhouse.query(total)).rows as ReadonlyArray<{ total: number }> : []
      const stored = found.slice(0, query.limit).map(fromRow)
      const last = stored.at(-1)
      return {
        items: stored.map(({ batch, event, row }) => ({ ...event, id: `${batch}-${row}` })),
        total: counted[0]?.total ?? null,
        next: found.length > query.limit && last !== undefined
          ? encodeCursor([last.event.event_time, last.batch, last.row])
          : null
      }
    }, Effect.orDie)

    const batched = Effect.fn("DhcpEvents.batched")(function*(query: BatchQuery) {
      if (query.batches.length === 0) return []
      const { rows } = yield* clickhouse.query(compileBatched(query))
      return (rows as ReadonlyArray<DhcpEventRow>).map(fromRow)
    }, Effect.orDie)

    const countMatches: DhcpEvents["Type"]["countMatches"] = ({ end, filter, start }) => {
      const params = makeSqlParams()
      const matches = compileFilterSql(filter, dhcpEventColumns, params)
      return clickhouse.query({
        query: `SELECT countIf(${matches}) AS matched, count() AS total\nFROM dhcp_events\nWHERE ${inSlice}`,
        params: { ...params.values, from: sqlMillis(start.getTime()), to: sqlMillis(end.getTime()) }
      }).pipe(Effect.map(({ rows }) => rows[0] as MatchCount), Effect.orDie)
    }

    const [retentionDays, forget] = yield* Effect.cachedInvalidateWithTTL(
      clickhouse.query({ query: retentionQuery }).pipe(
        Effect.mapError((cause) => new EventStoreFailed({ cause })),
        Effect.flatMap(({ rows }) => {
          const days = daysOf(rows)
          return days === undefined
            ? new EventStoreFailed({ cause: new Error("dhcp_events has no TTL in days") })
            : Effect.succeed(days)
        })
      ),
      "1 minute"
    )

    return DhcpEvents.of({
      append,
      list,
      batched,
      countMatches,
      retentionDays: Effect.onError(retentionDays, () => forget)
    })
  })
)
