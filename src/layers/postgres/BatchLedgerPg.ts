import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { BatchLedger, LedgerTimes, type PlacedBatch } from "../../services/BatchLedger.ts"
import { EventStoreFailed } from "../../services/DhcpEvents.ts"
import { Timestamp } from "./sql.ts"

const outline = { number: Schema.Int, events: Schema.Int, first_at: Timestamp, last_at: Timestamp }
const Late = Schema.Struct(outline)
const Bounds = { horizon: Schema.Int, settled: Schema.Int, overdue: Schema.Boolean }
const PageRow = Schema.Union(
  Schema.Struct({ ...Bounds, ...outline, place: Schema.Int }),
  Schema.Struct({ ...Bounds, place: Schema.Null })
)

const numbered = ({ events, first_at, last_at, number }: typeof Late.Type) => ({
  number,
  events,
  from: DateTime.formatIso(first_at),
  to: DateTime.formatIso(last_at)
})

const seconds = Duration.toSeconds

/** The most batches that are forgotten at once. */
const pruneMax = 10_000

/**
 * The ledger in Postgres, by whose clock leases run. Places are given one transaction at a time, so that whoever sees
 * one sees all before it.
 */
export const BatchLedgerPg = Layer.effect(
  BatchLedger,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const times = yield* LedgerTimes
    const ahead = (time: Duration.Duration) => sql`now() + make_interval(secs => ${seconds(time)}::double precision)`
    const ago = (time: Duration.Duration) => sql`now() - make_interval(secs => ${seconds(time)}::double precision)`
    const failed = (cause: unknown) => new EventStoreFailed({ cause })
    const inOrder = sql`SELECT pg_advisory_xact_lock(hashtextextended('dhcp_batches', 0))`

    const insert = SqlSchema.single({
      Request: Schema.Struct({ events: Schema.Int, from: Schema.String, to: Schema.String }),
      Result: Schema.Struct({ number: Schema.Int }),
      execute: ({ events, from, to }) =>
        sql`WITH in_order AS MATERIALIZED (${inOrder}),
            next AS MATERIALIZED (SELECT nextval('dhcp_batch_numbers') AS number FROM in_order)
          INSERT INTO dhcp_batches (number, place, state, events, first_at, last_at, opened_at, lease_until)
          SELECT number, number, 'open', ${events}::integer, ${from}::timestamptz, ${to}::timestamptz,
            clock_timestamp(), ${ahead(times.lease)}
          FROM next RETURNING number`
    })
    /** Gives a batch that was left a place after all others. */
    const place = (number: number, states: ReadonlyArray<string>) =>
      sql.withTransaction(Effect.zipRight(
        inOrder,
        sql`UPDATE dhcp_batches SET state = 'stored', place = nextval('dhcp_batch_numbers')
          WHERE number = ${number} AND state = ANY (${states})`
      ))
    const select = SqlSchema.findAll({
      Request: Schema.Struct({ after: Schema.Int, limit: Schema.Int }),
      Result: PageRow,
      execute: ({ after, limit }) =>
        sql`WITH bounds AS (
            SELECT h.place AS horizon,
              coalesce((SELECT min(place) - 1 FROM dhcp_batches WHERE state = 'open'),
                greatest((SELECT max(place) FROM dhcp_batches), h.place)) AS settled,
              EXISTS (SELECT FROM dhcp_batches WHERE state = 'open' AND lease_until < now()) AS overdue
            FROM dhcp_batch_horizon h)
          SELECT b.horizon, b.settled, b.overdue, s.place, s.number, s.events, s.first_at, s.last_at
          FROM bounds b LEFT JOIN LATERAL (
            SELECT * FROM dhcp_batches WHERE place > ${after} AND place <= b.settled AND state = 'stored'
            ORDER BY place LIMIT ${limit}) s ON true
          ORDER BY s.place`
    })
    const selectLate = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Late,
      execute: () =>
        sql`SELECT number, events, first_at, last_at FROM dhcp_batches
          WHERE state = 'late' AND opened_at <= ${ago(times.lateAfter)} ORDER BY opened_at LIMIT 100`
    })

    return BatchLedger.of({
      open: (batch) => Effect.mapBoth(insert(batch), { onSuccess: ({ number }) => number, onFailure: failed }),
      renew: (number) =>
        sql`UPDATE dhcp_batches SET lease_until = ${ahead(times.lease)} WHERE number = ${number} AND state = 'open'`
          .pipe(Effect.asVoid, Effect.orDie),
      close: (number) =>
        sql`UPDATE dhcp_batches SET state = 'stored' WHERE number = ${number} AND state = 'open' RETURNING number`.pipe(
          Effect.flatMap((rows) => rows.length > 0 ? Effect.void : place(number, ["late", "void"])),
          Effect.mapError(failed),
          Effect.asVoid
        ),
      leave: (number) =>
        sql`UPDATE dhcp_batches SET state = 'late' WHERE number = ${number} AND state = 'open'`.pipe(
          Effect.asVoid,
          Effect.orDie
        ),
      read: (after, limit) =>
        select({ after, limit }).pipe(
          Effect.orDie,
          Effect.map((rows) => {
            const { horizon, overdue, settled } = rows[0]!
            const batches = rows.flatMap((row): ReadonlyArray<PlacedBatch> =>
              row.place === null ? [] : [{ ...numbered(row), place: row.place }]
            )
            return { horizon, overdue, settled, batches }
          })
        ),
      reap: sql`UPDATE dhcp_batches SET state = 'late' WHERE state = 'open' AND lease_until <= now()`.pipe(
        Effect.asVoid,
        Effect.orDie
      ),
      late: Effect.orDie(Effect.map(selectLate(), (rows) => rows.map(numbered))),
      settle: (number, stored) =>
        Effect.orDie(Effect.asVoid(
          stored
            ? place(number, ["late"])
            : sql`UPDATE dhcp_batches SET state = 'void' WHERE number = ${number} AND state = 'late'`
        )),
      prune: sql`WITH gone AS (
          DELETE FROM dhcp_batches WHERE number IN (
            SELECT number FROM dhcp_batches WHERE state IN ('stored', 'void') AND place <= (
              SELECT max(place) FROM dhcp_batches WHERE opened_at < ${ago(times.keep)} AND state IN ('stored', 'void')
            ) ORDER BY place LIMIT ${pruneMax})
          RETURNING place)
        UPDATE dhcp_batch_horizon SET place = greatest(place, (SELECT max(place) FROM gone))`.pipe(
        Effect.asVoid,
        Effect.orDie
      )
    })
  })
)
