import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Schema } from "effect"
import { Feedback, FeedbackDraft, feedbackPerHourMax } from "../../schema/Feedback.ts"
import { UserId } from "../../schema/User.ts"
import { FeedbackBox, FeedbackLimitReached } from "../../services/FeedbackBox.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"

const { id, status, user_id } = Feedback.fields
const Row = Schema.Struct({ id, user_id, status, created_at: Timestamp, draft: FeedbackDraft })
const NewRow = Schema.Struct({ ...Row.fields, draft: Schema.parseJson(FeedbackDraft) })

const toDomain = ({ draft, ...rest }: typeof Row.Type): Feedback => ({ ...rest, ...draft })

export const FeedbackBoxPg = Layer.effect(
  FeedbackBox,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO feedback ${sql.insert(row)} RETURNING *`
    })
    const selectLast = SqlSchema.findAll({
      Request: Schema.Struct({ userId: UserId, since: Timestamp }),
      Result: Schema.Struct({ created_at: Timestamp }),
      execute: ({ since, userId }) =>
        sql`SELECT created_at FROM feedback WHERE user_id = ${userId} AND created_at > ${since}
          ORDER BY created_at DESC LIMIT ${feedbackPerHourMax}`
    })
    const page = yield* newestPage({
      table: "feedback",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    return FeedbackBox.of({
      submit: ({ at, draft, id, userId }) =>
        Effect.gen(function*() {
          yield* sql`SELECT FROM users WHERE id = ${userId} FOR NO KEY UPDATE`
          const recent = yield* selectLast({ userId, since: DateTime.subtract(at, { hours: 1 }) })
          const oldest = recent[feedbackPerHourMax - 1]
          if (oldest !== undefined) {
            const wait = DateTime.distance(at, DateTime.add(oldest.created_at, { hours: 1 }))
            return yield* new FeedbackLimitReached({ retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)) })
          }
          return toDomain(yield* insert({ id, user_id: userId, draft, status: "received", created_at: at }))
        }).pipe(
          sql.withTransaction,
          Effect.catchTags({ SqlError: Effect.die, ParseError: Effect.die, NoSuchElementException: Effect.die })
        ),
      list: Effect.fn("FeedbackBox.list")(function*(request) {
        const found = yield* page(sql`true`, request)
        return { ...found, items: found.items.map(toDomain) }
      })
    })
  })
)
