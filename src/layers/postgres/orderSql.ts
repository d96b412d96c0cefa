import { SqlClient, SqlSchema } from "@effect/sql"
import { Array, DateTime, Effect, Schema } from "effect"
import { ActionId, ActionType } from "../../schema/Action.ts"
import { ActionLimits } from "../../services/ActionLimits.ts"
import { type ActionOrder, admit, keyOfOrder, prolongs } from "../../services/ActionOrders.ts"
import type { OrderedBy } from "../../services/Actions.ts"
import { textArray, Timestamp } from "./sql.ts"

/** An action in force, locked by the transaction that reads it. */
const Held = Schema.Struct({
  id: ActionId,
  client: Schema.String,
  type: ActionType,
  tag: Schema.String,
  expires_at: Schema.NullOr(Timestamp)
})
export type Held = typeof Held.Type

/** MACs on the never-block list, with commas, and the blocks of the last hour. */
const GuardRow = Schema.Struct({ listed: Schema.String, begun: Schema.Int })

// Actions are ordered and lifted by one transaction at a time: so orders don't exceed the cap together, and the numbers
// of changes have the order of their commits.
const orderLock = 7_203_641_950

const byClient = (a: ActionOrder, b: ActionOrder) => a.client < b.client ? -1 : a.client > b.client ? 1 : 0
const runOut = ({ expires_at }: Held, at: DateTime.Utc) =>
  expires_at !== null && DateTime.lessThanOrEqualTo(expires_at, at)
const isoOrNull = (instant: DateTime.Utc | null) => instant && DateTime.formatIso(instant)

/** Places orders inside the caller's transaction: the one way in which actions come into force. */
export const orderStatements = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const limits = yield* ActionLimits

  // A node that is frozen while it holds the lock loses it before another one is to go on in its place.
  const exclusively = sql`SELECT set_config('idle_in_transaction_session_timeout', '8s', true),
    pg_advisory_xact_lock(${orderLock}::bigint)`

  // Once for a statement, however many rows it changes; only for who works `exclusively`.
  const nextChange = sql`(SELECT nextval('action_changes'))`
  const numbered = sql`change = ${nextChange}, synced_at = NULL`

  // Row by row through the index of active actions: a join is planned by statistics, which a new table lacks.
  const heldBy = SqlSchema.findAll({
    Request: Schema.Any as Schema.Schema<ReadonlyArray<ActionOrder>>,
    Result: Held,
    execute: (orders) =>
      sql`SELECT held.* FROM unnest(
          ${textArray(sql, orders.map(({ client }) => client))},
          ${textArray(sql, orders.map(({ type }) => type))},
          ${textArray(sql, orders.map(({ tag }) => tag))}
        ) AS wanted (client, type, tag)
        CROSS JOIN LATERAL (
          SELECT id, client, type, tag, expires_at FROM actions
          WHERE status = 'active' AND client = wanted.client AND type = wanted.type AND tag = coalesce(wanted.tag, '')
          LIMIT 1 FOR UPDATE
        ) AS held`
  })

  const endExpired = (actions: ReadonlyArray<Held>) =>
    sql`UPDATE actions SET status = 'expired', ended_at = expires_at, ${numbered}
      WHERE id = ANY (${actions.map(({ id }) => id)}::uuid[])`

  const decodeGuard = Schema.decodeUnknown(Schema.Tuple(GuardRow))
  const readGuard = (macs: ReadonlyArray<string>, at: DateTime.Utc) =>
    sql`SELECT coalesce(string_agg(mac, ','), '') AS listed, (
        SELECT coalesce(sum(begun), 0) FROM blocks_begun
        WHERE at > ${DateTime.toDateUtc(at)}::timestamptz - interval '1 hour'
      ) AS begun
      FROM protected_macs WHERE mac = ANY (${textArray(sql, macs)})`.pipe(Effect.flatMap(decodeGuard))

  const countBlocks = (at: Date, begun: number) =>
    sql`WITH past AS (
        DELETE FROM blocks_begun WHERE at < ${at}::timestamptz - interval '1 day'
      ), counted AS (
        INSERT INTO blocks_begun AS known (at, begun) VALUES (${at}, ${begun})
        ON CONFLICT (at) DO UPDATE SET begun = known.begun + excluded.begun
      )`

  // Only where some are in force: looking for what isn't there takes a tenth of the time.
  const prolong = sql`ON CONFLICT (client, type, tag) WHERE status = 'active'
    DO UPDATE SET expires_at = excluded.expires_at, change = excluded.change, synced_at = NULL`

  /** `begun` of the orders are blocks that begin, `prolonging` tells that some are in force. */
  const insert = (
    orders: ReadonlyArray<ActionOrder>,
    { at, origin, reason }: OrderedBy,
    { begun, prolonging }: { readonly begun: number; readonly prolonging: boolean }
  ) =>
    sql`${begun > 0 ? countBlocks(DateTime.toDateUtc(at), begun) : sql``}
      INSERT INTO actions AS held (
        id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, change, created_at, expires_at
      )
      SELECT id::uuid, type, coalesce(tag, ''), client, client_mac, 'active', ${reason}, ${origin.kind}, ${origin.id},
        ${nextChange}, ${DateTime.toDateUtc(at)}::timestamptz, expires_at::timestamptz
      FROM unnest(
        ${textArray(sql, orders.map(({ id }) => id))},
        ${textArray(sql, orders.map(({ type }) => type))},
        ${textArray(sql, orders.map(({ tag }) => tag))},
        ${textArray(sql, orders.map(({ client }) => client))},
        ${textArray(sql, orders.map(({ client_mac }) => client_mac))},
        ${textArray(sql, orders.map(({ expires_at }) => isoOrNull(expires_at)))}
      ) AS wanted (id, type, tag, client, client_mac, expires_at)
      ORDER BY client COLLATE "C", type COLLATE "C", coalesce(tag, '') COLLATE "C"
      ${prolonging ? prolong : sql``}`

  const guardFor = Effect.fnUntraced(function*(
    orders: ReadonlyArray<ActionOrder>,
    held: ReadonlyMap<string, Held>,
    at: DateTime.Utc
  ) {
    const macs = orders.flatMap(({ client_mac }) => client_mac === null ? [] : [client_mac])
    const [{ begun, ...guard }] = yield* readGuard(macs, at)
    const listed = new Set(guard.listed.split(","))
    return {
      isProtected: (mac: string) => limits.protectedMacs.has(mac) || listed.has(mac),
      isBlocked: (client: string) => held.has(keyOfOrder({ client, type: "block", tag: null })),
      room: limits.blocksPerHour - begun
    }
  })

  /** Orders of one kind at most for each client; the transaction must not lock rows of actions before. */
  const place = Effect.fnUntraced(function*(orders: ReadonlyArray<ActionOrder>, by: OrderedBy) {
    yield* exclusively
    const active = yield* heldBy([...orders].sort(byClient))
    const [held, expired] = Array.partition(active, (row) => runOut(row, by.at))
    if (expired.length > 0) yield* endExpired(expired)
    const known = new Map(held.map((row) => [keyOfOrder(row), row]))
    const { admitted, refused } = admit(orders, yield* guardFor(orders, known, by.at))
    const changed = admitted.filter((order) => {
      const current = known.get(keyOfOrder(order))
      return current === undefined || prolongs(current.expires_at, order.expires_at)
    })
    const begun = changed.filter((order) => order.type === "block" && !known.has(keyOfOrder(order))).length
    if (changed.length > 0) yield* insert(changed, by, { begun, prolonging: known.size > 0 })
    return { changed, held: known, refused }
  })

  return { exclusively, numbered, place }
})
