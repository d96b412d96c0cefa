import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { Action, ActionId, ActionOrigin, type ActionType } from "../../schema/Action.ts"
import { actionAt, ActionMissing, type ActionQuery, Actions } from "../../services/Actions.ts"
import { newestPage } from "./newestPage.ts"
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

    const selectOne = SqlSchema.findOne({
      Request: ActionId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM actions WHERE id = ${id}`
    })
    const page = yield* newestPage({
      table: "actions",
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
          ORDER BY client COLLATE "C"`
      }
    })

    return Actions.of({
      get: Effect.fn("Actions.get")(function*(id) {
        const row = yield* Effect.orDie(selectOne(id))
        return Option.isSome(row)
          ? actionAt(toDomain(row.value), yield* DateTime.now)
          : yield* new ActionMissing({ id })
      }),
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
