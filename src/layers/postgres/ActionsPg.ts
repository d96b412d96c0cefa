import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { Action, ActionId, ActionOrigin, type ActionType } from "../../schema/Action.ts"
import { type ActionOrder, keyOfOrder } from "../../services/ActionOrders.ts"
import {
  actionAt,
  ActionMissing,
  type ActionQuery,
  ActionRefused,
  Actions,
  type OrderedBy
} from "../../services/Actions.ts"
import { newestPage } from "./newestPage.ts"
import { orderStatements } from "./orderSql.ts"
import { Timestamp } from "./sql.ts"

const { origin: _, ...fields } = Action.fields
const Row = Schema.Struct({
  ...fields,
  tag: Schema.String,
  origin_kind: ActionOrigin.fields.kind,
  origin_id: ActionOrigin.fields.id,
  created_at: Timestamp,
  expires_at: Schema.NullOr(Timestamp),
  ended_at: Schema.NullOr(Timestamp),
  synced_at: Schema.NullOr(Timestamp)
})

const toDomain = ({ origin_id, origin_kind, tag, ...row }: typeof Row.Type): Action =>
  new Action({ ...row, tag: tag === "" ? null : tag, origin: { kind: origin_kind, id: origin_id } })

export const ActionsPg = Layer.effect(
  Actions,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const { exclusively, numbered, place } = yield* orderStatements

    const selectOne = SqlSchema.findOne({
      Request: ActionId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM actions_seen WHERE id = ${id}`
    })
    const selectAll = SqlSchema.findAll({
      Request: Schema.Array(ActionId),
      Result: Row,
      execute: (ids) => sql`SELECT * FROM actions_seen WHERE id = ANY (${ids})`
    })
    const endActive = SqlSchema.void({
      Request: Schema.Struct({ id: ActionId, at: Timestamp }),
      execute: ({ at, id }) =>
        sql`UPDATE actions SET status = 'removed', ended_at = ${at}, ${numbered}
          WHERE id = ${id} AND status = 'active' AND (expires_at IS NULL OR expires_at > ${at})`
    })
    const endAll = SqlSchema.findAll({
      Request: Timestamp,
      Result: Schema.Struct({ id: ActionId }),
      execute: (at) =>
        sql`UPDATE actions SET status = 'removed', ended_at = ${at}, ${numbered} FROM (
            SELECT id FROM actions WHERE status = 'active' AND (expires_at IS NULL OR expires_at > ${at})
            ORDER BY client, type, tag FOR UPDATE
          ) AS held WHERE actions.id = held.id RETURNING actions.id`
    })
    const page = yield* newestPage({
      table: "actions_seen",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const hasStatus = (status: Action["status"], now: Date): Fragment => {
      switch (status) {
        case "active":
          return sql`status = 'active' AND (expires_at IS NULL OR expires_at > ${now})`
        case "expired":
          return sql`(status = 'expired' OR (status = 'active' AND expires_at <= ${now}))`
        case "removed":
          return sql`status = 'removed'`
      }
    }
    const matches = ({ client, status, type }: ActionQuery, now: Date): Fragment =>
      sql.and([
        sql`true`,
        ...(type === undefined ? [] : [sql`type = ${type}`]),
        ...(status === undefined ? [] : [hasStatus(status, now)]),
        ...(client === undefined ? [] : [sql`client = ${client}`])
      ])

    const selectBlocked = SqlSchema.findAll({
      Request: Schema.DateFromSelf,
      Result: Schema.Struct({ client: Schema.String }),
      execute: (now) => {
        const inForce = (type: ActionType) => sql`type = ${type} AND ${hasStatus("active", now)}`
        return sql`
          SELECT DISTINCT client FROM actions WHERE ${inForce("block")}
          EXCEPT SELECT client FROM actions WHERE ${inForce("allow")}
          ORDER BY client`
      }
    })
    const get = Effect.fn("Actions.get")(function*(id: ActionId) {
      const row = yield* Effect.orDie(selectOne(id))
      return Option.isSome(row)
        ? actionAt(toDomain(row.value), yield* DateTime.now)
        : yield* new ActionMissing({ id })
    })

    const attempt = Effect.fnUntraced(function*(order: ActionOrder, by: OrderedBy) {
      const { held, refused: [refusal] } = yield* place([order], by)
      if (refusal !== undefined) return refusal
      const known = held.get(keyOfOrder(order))
      const [row] = yield* selectAll([known?.id ?? order.id])
      return { action: actionAt(toDomain(row!), by.at), created: known === undefined }
    })

    return Actions.of({
      get,
      order: Effect.fn("Actions.order")(function*(order, by) {
        const outcome = yield* Effect.orDie(sql.withTransaction(attempt(order, by)))
        return "order" in outcome ? yield* new ActionRefused({ reason: outcome.reason }) : outcome
      }),
      remove: Effect.fn("Actions.remove")(function*(id, at) {
        yield* Effect.orDie(sql.withTransaction(Effect.zipRight(exclusively, endActive({ id, at }))))
        return yield* get(id)
      }),
      removeAll: (at) =>
        Effect.zipRight(exclusively, endAll(at)).pipe(
          sql.withTransaction,
          Effect.map((rows) => rows.length),
          Effect.orDie
        ),
      list: Effect.fn("Actions.list")(function*(query) {
        const now = yield* DateTime.now
        const found = yield* page(matches(query, DateTime.toDateUtc(now)), query)
        return { ...found, items: found.items.map((row) => actionAt(toDomain(row), now)) }
      }),
      blockedClients: DateTime.now.pipe(
        Effect.flatMap((now) => selectBlocked(DateTime.toDateUtc(now))),
        Effect.map((rows) => rows.map(({ client }) => client)),
        Effect.orDie,
        Effect.withSpan("Actions.blockedClients")
      )
    })
  })
)
