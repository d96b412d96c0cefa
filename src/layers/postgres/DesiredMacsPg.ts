import { SqlClient, SqlSchema } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { DateTime, Effect, Layer, Schema, Stream } from "effect"
import { ActionId } from "../../schema/Action.ts"
import { ActionLimits } from "../../services/ActionLimits.ts"
import { DesiredMacs, type DueAction } from "../../services/DesiredMacs.ts"
import { textArray, Timestamp } from "./sql.ts"

const Due = Schema.Struct({ id: ActionId, client_mac: Schema.NullOr(Schema.String), version: Schema.String })
/** With commas between the MACs: thousands of rows take far longer to decode. */
const BehindRow = Schema.Struct({ macs: Schema.String, change: Schema.Int })
const Sets = Schema.Struct({
  type: Schema.Literal("block", "quarantine"),
  macs: Schema.Array(Schema.String),
  deadlines: Schema.Array(Schema.Number)
})

const never = -1
const deadlinesOf = (sets: typeof Sets.Type | undefined) =>
  new Map((sets?.macs ?? []).map((mac, index) => {
    const deadline = sets!.deadlines[index]!
    return [mac, deadline === never ? Infinity : deadline]
  }))

export const DesiredMacsPg = Layer.effect(
  DesiredMacs,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const pg = yield* PgClient.PgClient
    const limits = yield* ActionLimits
    const decodeSets = Schema.decodeUnknown(Schema.Array(Sets))

    const selectBehind = SqlSchema.single({
      Request: Schema.Void,
      Result: BehindRow,
      execute: () => sql`SELECT macs, change FROM actions_behind()`
    })
    const selectDue = SqlSchema.findAll({
      Request: Schema.Struct({ at: Timestamp, only: Schema.NullOr(Schema.String), limit: Schema.Int }),
      Result: Due,
      execute: ({ at, limit, only }) =>
        // Apart from the type, for which Postgres would read all that is in force.
        sql`SELECT id, client_mac, version FROM (
            SELECT id, client_mac, type, expires_at, xmin::text AS version FROM actions
            WHERE status = 'active' AND expires_at <= ${at} OFFSET 0
          ) AS due WHERE ${only}::text IS NULL OR type = ${only} ORDER BY expires_at LIMIT ${limit}`
    })
    // What is locked is being changed: it is left to the next pass, and nobody waits for anybody.
    const unchanged = (actions: ReadonlyArray<DueAction>) =>
      sql`(
        SELECT id FROM actions JOIN unnest(
          ${textArray(sql, actions.map(({ id }) => id))}::uuid[],
          ${textArray(sql, actions.map(({ version }) => version))}
        ) AS seen (id, version) USING (id)
        WHERE actions.id = ANY (${
        textArray(sql, actions.map(({ id }) => id))
      }::uuid[]) AND actions.xmin::text = seen.version
        FOR UPDATE OF actions SKIP LOCKED
      ) AS same`
    const countOf = Effect.map((rows: ReadonlyArray<unknown>) => rows.length)

    return DesiredMacs.of({
      desired: (at, macs) => {
        const now = DateTime.toDateUtc(at)
        const inForce = sql`status = 'active' AND (expires_at IS NULL OR expires_at > ${now})`
        // For a few MACs row by row through the index of active actions, whatever the statistics say.
        const held = macs === undefined
          ? sql`SELECT type, client_mac, expires_at FROM actions WHERE type <> 'tag' AND ${inForce}`
          : sql`SELECT held.* FROM unnest(${textArray(sql, macs)}) AS wanted (mac) CROSS JOIN LATERAL (
              SELECT type, client_mac, expires_at FROM actions
              WHERE client = wanted.mac AND type <> 'tag' AND ${inForce} OFFSET 0
            ) AS held`
        return sql`WITH held AS (${held})
          SELECT type, array_agg(client_mac) AS macs,
            array_agg(coalesce(extract(epoch FROM expires_at)::float8 * 1000, ${never})) AS deadlines
          FROM held WHERE type <> 'allow'
            AND client_mac <> ALL (${[...limits.protectedMacs]}::text[])
            AND client_mac NOT IN (SELECT mac FROM protected_macs)
            AND client_mac NOT IN (SELECT client_mac FROM held WHERE type = 'allow')
          GROUP BY type`.pipe(
          Effect.flatMap(decodeSets),
          Effect.orDie,
          Effect.map((rows) => ({
            blocked_macs: deadlinesOf(rows.find(({ type }) => type === "block")),
            quarantined_macs: deadlinesOf(rows.find(({ type }) => type === "quarantine"))
          })),
          Effect.withSpan("DesiredMacs.desired")
        )
      },
      behind: Effect.map(Effect.orDie(selectBehind()), ({ change, macs }) => ({
        change,
        macs: macs === "" ? [] : macs.split(",")
      })),
      // A pass on another node may have come further meanwhile.
      markSynced: (change, at, families) =>
        Effect.orDie(sql`INSERT INTO enforcement_marks
          SELECT ${change}::bigint, ${DateTime.toDateUtc(at)}::timestamptz, string_to_array(${families.join(",")}, ',')
          WHERE NOT EXISTS (SELECT FROM enforcement_marks WHERE change >= ${change}::bigint) ON CONFLICT DO NOTHING`),
      due: (at, kind, limit) =>
        Effect.orDie(selectDue({ at, only: kind === "any" ? null : kind, limit })).pipe(
          Effect.map((rows) => rows.map((row) => ({ ...row, client_mac: row.client_mac ?? "" })))
        ),
      markExpired: (actions, at) =>
        sql`UPDATE actions SET status = 'expired', ended_at = expires_at, synced_at = ${DateTime.toDateUtc(at)}
          FROM ${unchanged(actions)} WHERE actions.id = same.id AND status = 'active' RETURNING 1`.pipe(
          countOf,
          Effect.orDie
        ),
      changes: pg.listen("enforcement").pipe(
        Stream.map((payload) => payload === "all" ? "all" as const : "actions" as const),
        Stream.catchAll(() => Stream.empty)
      )
    })
  })
)
