import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { DhcpFilter, DhcpFilterId, dhcpFiltersMax } from "../../schema/DhcpFilter.ts"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { UserId } from "../../schema/User.ts"
import { DhcpFilters, FilterMissing, TooManyFilters } from "../../services/DhcpFilters.ts"
import { type Expected, RevisionMismatch } from "../../services/Revision.ts"
import { newestPage } from "./newestPage.ts"
import { isExpectedIn, Timestamp } from "./sql.ts"

const Row = Schema.Struct({ ...DhcpFilter.fields, created_at: Timestamp, updated_at: Timestamp })
const Rules = Schema.parseJson(DhcpEventFilter)
const NewRow = Schema.Struct({ ...Row.fields, rules: Rules, user_id: UserId })
const Key = Schema.Struct({ id: DhcpFilterId, userId: UserId })
const Change = Schema.Struct({ ...Key.fields, rules: Rules, name: Schema.NullOr(Schema.String), at: Timestamp })
const Revision = Schema.Struct({ id: DhcpFilterId, revision: Schema.Int })

export const DhcpFiltersPg = Layer.effect(
  DhcpFilters,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // The user's row is what new filters of the user queue up on, so that they are counted one by one.
    const lock = (userId: UserId) => sql`SELECT FROM users WHERE id = ${userId} FOR NO KEY UPDATE`
    const count = SqlSchema.single({
      Request: UserId,
      Result: Schema.Struct({ total: Schema.Int }),
      execute: (userId) => sql`SELECT count(*) AS total FROM dhcp_filters WHERE user_id = ${userId}`
    })
    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO dhcp_filters ${sql.insert(row)} RETURNING *`
    })
    const selectOne = SqlSchema.findOne({
      Request: Key,
      Result: Row,
      execute: ({ id, userId }) => sql`SELECT * FROM dhcp_filters WHERE id = ${id} AND user_id = ${userId}`
    })
    const update = (expected: Expected) =>
      SqlSchema.findOne({
        Request: Change,
        Result: Row,
        execute: ({ at, id, name, rules, userId }) =>
          sql`UPDATE dhcp_filters SET rules = ${rules}, name = coalesce(${name}, name), updated_at = ${at},
            revision = revision + 1
            WHERE id = ${id} AND user_id = ${userId} AND ${isExpectedIn(sql, "revision", expected)} RETURNING *`
      })
    const deleteOne = (expected: Expected) =>
      SqlSchema.findOne({
        Request: Key,
        Result: Schema.Struct({ id: DhcpFilterId }),
        execute: ({ id, userId }) =>
          sql`DELETE FROM dhcp_filters WHERE id = ${id} AND user_id = ${userId} AND ${
            isExpectedIn(sql, "revision", expected)
          } RETURNING id`
      })
    const selectRevisions = SqlSchema.findAll({
      Request: Schema.Array(DhcpFilterId),
      Result: Revision,
      execute: (ids) => sql`SELECT id, revision FROM dhcp_filters WHERE id = ANY (${ids}::uuid[])`
    })
    const page = yield* newestPage({
      table: "dhcp_filters",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const get = (userId: UserId, id: DhcpFilterId) =>
      Effect.flatMap(
        Effect.orDie(selectOne({ id, userId })),
        Option.match({ onNone: () => Effect.fail(new FilterMissing()), onSome: Effect.succeed })
      )
    /** Nothing was written: the filter is not there, or not as expected. */
    const unwritten = (userId: UserId, id: DhcpFilterId) =>
      Effect.flatMap(get(userId, id), ({ revision }) => new RevisionMismatch({ revision }))

    return DhcpFilters.of({
      create: ({ at, draft, id, userId }) =>
        Effect.gen(function*() {
          yield* lock(userId)
          if ((yield* count(userId)).total >= dhcpFiltersMax) return Option.none()
          return Option.some(
            yield* insert({ ...draft, id, user_id: userId, revision: 1, created_at: at, updated_at: at })
          )
        }).pipe(
          sql.withTransaction,
          Effect.orDie,
          Effect.flatMap(Option.match({ onNone: () => new TooManyFilters(), onSome: Effect.succeed }))
        ),
      get,
      list: (userId, request) => page(sql`user_id = ${userId}`, request),
      update: Effect.fnUntraced(function*(userId, id, { at, expected, update: { name = null, rules } }) {
        const row = yield* Effect.orDie(update(expected)({ id, userId, name, rules, at }))
        return Option.isSome(row) ? row.value : yield* unwritten(userId, id)
      }),
      remove: Effect.fnUntraced(function*(userId, id, expected) {
        if (Option.isNone(yield* Effect.orDie(deleteOne(expected)({ id, userId })))) return yield* unwritten(userId, id)
      }),
      revisions: (ids) =>
        Effect.orDie(
          Effect.map(selectRevisions(ids), (rows) => new Map(rows.map(({ id, revision }) => [id, revision])))
        )
    })
  })
)
