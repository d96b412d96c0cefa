import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { ServiceEvent, serviceEvent, severities } from "../../schema/ServiceEvent.ts"
import { type EventPosition, type EventQuery, ServiceEvents } from "../../services/ServiceEvents.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({ id: Schema.UUID, time: Timestamp, event: ServiceEvent })
const Placed = Schema.Array(Schema.Struct({ xid: Schema.NumberFromString, seq: Schema.Int, event: ServiceEvent }))
const Place = Schema.Array(Schema.Struct({ xid: Schema.NumberFromString, seq: Schema.Int }))
const decodePlaced = Schema.decodeUnknown(Placed)
const decodePlace = Schema.decodeUnknown(Place)
const encodeEvents = Schema.encodeSync(Schema.parseJson(Schema.Array(ServiceEvent)))

const positionAt = ({ seq, xid }: { readonly xid: number; readonly seq: number }) => `${xid}.${seq}` as EventPosition

/** The transaction and the number within the table that a position stands for. */
export const placeOf = (position: EventPosition | undefined): readonly [xid: string, seq: string] => {
  const [xid = "0", seq = "0"] = position?.split(".") ?? []
  return [xid, seq]
}

/**
 * Events in Postgres. Numbers of a sequence aren't in the order of commits: what is read ends before the oldest
 * transaction that is still at work, so that nothing becomes visible behind a reader's back.
 */
export const ServiceEventsPg = Layer.effect(
  ServiceEvents,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const page = yield* newestPage({
      table: "service_events",
      time: "time",
      row: Row,
      position: ({ id, time }) => ({ at: time, id })
    })

    const where = ({ end, hidden = [], min_severity, start, subject, type }: EventQuery) =>
      sql.and([
        sql`type <> ALL (${hidden}::text[])`,
        ...(type === undefined ? [] : [sql`type = ${type}`]),
        ...(min_severity === undefined
          ? []
          : [sql`severity = ANY (${severities.slice(severities.indexOf(min_severity))}::text[])`]),
        ...(subject === undefined ? [] : [sql`event ->> 'subject' = ${subject}`]),
        ...(start === undefined ? [] : [sql`time >= ${DateTime.formatIso(start)}::timestamptz`]),
        ...(end === undefined ? [] : [sql`time <= ${DateTime.formatIso(end)}::timestamptz`])
      ])
    const settled = sql`xid < pg_snapshot_xmin(pg_current_snapshot())`

    return ServiceEvents.of({
      publish: Effect.fn("ServiceEvents.publish")(function*(drafts) {
        if (drafts.length === 0) return
        const events = drafts.map((draft) => serviceEvent(globalThis.crypto.randomUUID(), draft))
        yield* sql`INSERT INTO service_events (id, type, severity, time, event)
          SELECT (event ->> 'id')::uuid, event ->> 'type', event ->> 'severity', (event ->> 'time')::timestamptz, event
          FROM jsonb_array_elements(${encodeEvents(events)}::jsonb) WITH ORDINALITY AS listed (event, place)
          ORDER BY place`
      }, Effect.orDie),
      list: (query) =>
        Effect.map(page(where(query), query), (found) => ({ ...found, items: found.items.map(({ event }) => event) })),
      // The order names the table: `xid` alone would be the text that is selected, and 999 comes after 1000 as text.
      read: Effect.fn("ServiceEvents.read")(function*(after, limit) {
        const [xid, seq] = placeOf(after)
        const rows = yield* sql`SELECT xid::text, seq, event FROM service_events
          WHERE (xid, seq) > (${xid}::xid8, ${seq}::bigint) AND ${settled}
          ORDER BY service_events.xid, seq LIMIT ${limit}`.pipe(Effect.flatMap(decodePlaced))
        return rows.map((row) => ({ position: positionAt(row), event: row.event }))
      }, Effect.orDie),
      end:
        sql`SELECT xid::text, seq FROM service_events WHERE ${settled} ORDER BY service_events.xid DESC, seq DESC LIMIT 1`
          .pipe(
            Effect.flatMap(decodePlace),
            Effect.map(([row]) => row && positionAt(row)),
            Effect.orDie
          ),
      positionOf: (id) =>
        sql`SELECT xid::text, seq FROM service_events WHERE id = ${id}::uuid`.pipe(
          Effect.flatMap(decodePlace),
          Effect.map(([row]) => Option.fromNullable(row && positionAt(row))),
          Effect.orDie
        ),
      prune: (before) =>
        Effect.orDie(Effect.asVoid(
          sql`DELETE FROM service_events WHERE time < ${DateTime.formatIso(before)}::timestamptz`
        ))
    })
  })
)
