import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { EventMatcher } from "../../schema/EventFilter.ts"
import {
  type NotificationRule,
  NotificationRuleDraft,
  NotificationRuleId,
  Silence,
  SilenceId
} from "../../schema/NotificationRule.ts"
import { UserId } from "../../schema/User.ts"
import {
  NotificationRuleMissing,
  NotificationRules,
  SilenceMissing,
  Silences
} from "../../services/NotificationRules.ts"
import { type Expected, RevisionMismatch } from "../../services/Revision.ts"
import { newestPage } from "./newestPage.ts"
import { isExpectedIn, Timestamp } from "./sql.ts"

const record = Schema.Struct({
  id: NotificationRuleId,
  revision: Schema.Int,
  created_by: UserId,
  updated_by: UserId,
  created_at: Timestamp,
  updated_at: Timestamp
})
const Row = Schema.Struct({ ...record.fields, draft: NotificationRuleDraft })
const NewRow = Schema.Struct({ ...record.fields, draft: Schema.parseJson(NotificationRuleDraft) })
const Change = NewRow.pipe(Schema.pick("id", "draft", "updated_by", "updated_at"))

const toDomain = ({ draft, ...rest }: typeof Row.Type): NotificationRule => ({ ...rest, ...draft })

export const NotificationRulesPg = Layer.effect(
  NotificationRules,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO notification_rules ${sql.insert(row)} RETURNING *`
    })
    const selectOne = SqlSchema.findOne({
      Request: NotificationRuleId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM notification_rules WHERE id = ${id}`
    })
    const selectEnabled = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () => sql`SELECT * FROM notification_rules WHERE draft -> 'enabled' = 'true' ORDER BY id`
    })
    const update = (expected: Expected) =>
      SqlSchema.findOne({
        Request: Change,
        Result: Row,
        execute: ({ draft, id, updated_at, updated_by }) =>
          sql`UPDATE notification_rules SET draft = ${draft}, revision = revision + 1, updated_by = ${updated_by},
            updated_at = ${updated_at} WHERE id = ${id} AND ${isExpectedIn(sql, "revision", expected)} RETURNING *`
      })
    const page = yield* newestPage({
      table: "notification_rules",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const orMissing = <A>(id: string, row: Option.Option<A>): Effect.Effect<A, NotificationRuleMissing> =>
      Option.match(row, { onNone: () => Effect.fail(new NotificationRuleMissing({ id })), onSome: Effect.succeed })
    const unwritten = Effect.fnUntraced(function*(id: NotificationRuleId) {
      const { revision } = yield* orMissing(id, yield* Effect.orDie(selectOne(id)))
      return yield* new RevisionMismatch({ revision })
    })

    return NotificationRules.of({
      create: (id, { at, by, draft }) =>
        insert({ id, draft, revision: 1, created_by: by, updated_by: by, created_at: at, updated_at: at }).pipe(
          Effect.map(toDomain),
          Effect.orDie
        ),
      get: Effect.fn("NotificationRules.get")(function*(id) {
        return toDomain(yield* orMissing(id, yield* Effect.orDie(selectOne(id))))
      }),
      list: (request) =>
        Effect.map(page(sql`true`, request), (found) => ({ ...found, items: found.items.map(toDomain) })),
      enabled: Effect.map(Effect.orDie(selectEnabled()), (rows) => rows.map(toDomain)),
      update: Effect.fn("NotificationRules.update")(function*(id, { at, by, draft, expected }) {
        const rule = yield* Effect.orDie(update(expected)({ id, draft, updated_by: by, updated_at: at }))
        return Option.isSome(rule) ? toDomain(rule.value) : yield* unwritten(id)
      }),
      remove: Effect.fn("NotificationRules.remove")(function*(id, expected) {
        const rows = yield* Effect.orDie(
          sql`DELETE FROM notification_rules WHERE id = ${id} AND ${
            isExpectedIn(sql, "revision", expected)
          } RETURNING id`
        )
        if (rows.length === 0) return yield* unwritten(id)
      })
    })
  })
)

const SilenceRow = Schema.Struct({
  ...Silence.fields,
  starts_at: Timestamp,
  ends_at: Timestamp,
  created_at: Timestamp
})
const NewSilence = Schema.Struct({ ...SilenceRow.fields, matchers: Schema.parseJson(EventMatcher) })

export const SilencesPg = Layer.effect(
  Silences,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const insert = SqlSchema.single({
      Request: NewSilence,
      Result: SilenceRow,
      execute: (row) => sql`INSERT INTO notification_silences ${sql.insert(row)} RETURNING *`
    })
    const selectOne = SqlSchema.findOne({
      Request: SilenceId,
      Result: SilenceRow,
      execute: (id) => sql`SELECT * FROM notification_silences WHERE id = ${id}`
    })
    const selectActive = SqlSchema.findAll({
      Request: Timestamp,
      Result: SilenceRow,
      execute: (at) => sql`SELECT * FROM notification_silences WHERE starts_at <= ${at} AND ends_at > ${at} ORDER BY id`
    })
    const expireOne = SqlSchema.findOne({
      Request: Schema.Struct({ id: SilenceId, at: Timestamp }),
      Result: SilenceRow,
      execute: ({ at, id }) =>
        sql`UPDATE notification_silences SET starts_at = least(starts_at, ${at}), ends_at = least(ends_at, ${at})
          WHERE id = ${id} RETURNING *`
    })
    const page = yield* newestPage({
      table: "notification_silences",
      time: "created_at",
      row: SilenceRow,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })
    const orMissing = (id: string) =>
      Option.match({
        onNone: () => Effect.fail(new SilenceMissing({ id })),
        onSome: (row: Silence) => Effect.succeed(row)
      })

    return Silences.of({
      create: (silence) => Effect.orDie(insert(silence)),
      get: (id) => Effect.flatMap(Effect.orDie(selectOne(id)), orMissing(id)),
      list: (request) => page(sql`true`, request),
      active: (at) => Effect.orDie(selectActive(at)),
      expire: (id, at) => Effect.flatMap(Effect.orDie(expireOne({ id, at })), orMissing(id))
    })
  })
)
