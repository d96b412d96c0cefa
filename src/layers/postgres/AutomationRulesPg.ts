import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { type AutomationRule, RuleDraft, RuleId } from "../../schema/AutomationRule.ts"
import { UserId } from "../../schema/User.ts"
import { AutomationRules, RuleMissing } from "../../services/AutomationRules.ts"
import { type Expected, RevisionMismatch } from "../../services/Revision.ts"
import { newestPage } from "./newestPage.ts"
import { makeRespan } from "./scheduleSpans.ts"
import { isExpectedIn, Timestamp } from "./sql.ts"

const record = Schema.Struct({
  id: RuleId,
  revision: Schema.Int,
  created_by: UserId,
  updated_by: UserId,
  created_at: Timestamp,
  updated_at: Timestamp
})
const Row = Schema.Struct({ ...record.fields, draft: RuleDraft })
const NewRow = Schema.Struct({ ...record.fields, draft: Schema.parseJson(RuleDraft) })
const Change = NewRow.pipe(Schema.pick("id", "draft", "updated_by", "updated_at"))

const toDomain = ({ draft, ...rest }: typeof Row.Type): AutomationRule => ({ ...rest, ...draft })

export const AutomationRulesPg = Layer.effect(
  AutomationRules,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO automation_rules ${sql.insert(row)} RETURNING *`
    })
    const selectOne = SqlSchema.findOne({
      Request: RuleId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM automation_rules WHERE id = ${id}`
    })
    const update = (expected: Expected) =>
      SqlSchema.findOne({
        Request: Change,
        Result: Row,
        execute: ({ draft, id, updated_at, updated_by }) =>
          sql`UPDATE automation_rules SET draft = ${draft}, revision = revision + 1, updated_by = ${updated_by},
          updated_at = ${updated_at} WHERE id = ${id} AND ${isExpectedIn(sql, "revision", expected)} RETURNING *`
      })
    const deleteOne = (expected: Expected) =>
      SqlSchema.findOne({
        Request: RuleId,
        Result: Schema.Struct({ id: RuleId }),
        execute: (id) =>
          sql`DELETE FROM automation_rules WHERE id = ${id} AND ${isExpectedIn(sql, "revision", expected)} RETURNING id`
      })
    const page = yield* newestPage({
      table: "automation_rules",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const respan = yield* makeRespan

    const orMissing = <A>(id: RuleId, row: Option.Option<A>): Effect.Effect<A, RuleMissing> =>
      Option.match(row, { onNone: () => Effect.fail(new RuleMissing({ id })), onSome: Effect.succeed })

    /** Nothing was written: the rule is not there, or not as expected. */
    const unwritten = Effect.fnUntraced(function*(id: RuleId) {
      const { revision } = yield* orMissing(id, yield* Effect.orDie(selectOne(id)))
      return yield* new RevisionMismatch({ revision })
    })

    return AutomationRules.of({
      create: Effect.fn("AutomationRules.create")(function*({ at, by, draft, id }) {
        const row = { id, draft, revision: 1, created_by: by, updated_by: by, created_at: at, updated_at: at }
        return yield* insert(row).pipe(
          Effect.map(toDomain),
          Effect.tap(respan),
          sql.withTransaction,
          Effect.orDie
        )
      }),
      get: Effect.fn("AutomationRules.get")(function*(id) {
        return toDomain(yield* orMissing(id, yield* Effect.orDie(selectOne(id))))
      }),
      list: Effect.fn("AutomationRules.list")(function*(request) {
        const found = yield* page(sql`true`, request)
        return { ...found, items: found.items.map(toDomain) }
      }),
      update: Effect.fn("AutomationRules.update")(function*(id, { at, by, draft, expected }) {
        const rule = yield* update(expected)({ id, draft, updated_by: by, updated_at: at }).pipe(
          Effect.map(Option.map(toDomain)),
          Effect.tap(Option.match({ onNone: () => Effect.void, onSome: respan })),
          sql.withTransaction,
          Effect.orDie
        )
        return Option.isSome(rule) ? rule.value : yield* unwritten(id)
      }),
      remove: Effect.fn("AutomationRules.remove")(function*(id, expected) {
        if (Option.isNone(yield* Effect.orDie(deleteOne(expected)(id)))) return yield* unwritten(id)
      })
    })
  })
)
