import { Schema } from "effect"
import { UserId } from "./User.ts"

export const FeedbackId = Schema.UUID.pipe(Schema.brand("FeedbackId"))
export type FeedbackId = typeof FeedbackId.Type

/** How many messages one user may send within an hour. */
export const feedbackPerHourMax = 5

const text = (min: number, max: number) =>
  Schema.String.pipe(
    Schema.filter((value) =>
      (value.length >= min && value.length <= max && !/[\0\p{Cs}]/u.test(value)) ||
      `Expected ${min} to ${max} characters`
    ),
    Schema.annotations({ jsonSchema: { type: "string", minLength: min, maxLength: max } })
  )

const fields = {
  category: Schema.Literal("bug", "feature", "question", "other"),
  message: text(1, 5000),
  subject: Schema.optional(text(0, 200)),
  rating: Schema.optional(Schema.Int.pipe(Schema.between(1, 5))),
  page_url: Schema.optional(text(0, 2000)),
  context: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.Unknown }).pipe(
      Schema.filter((context) =>
        JSON.stringify(context).length <= 20_000 || "Expected at most 20000 characters of JSON"
      ),
      Schema.filter((context) => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(context)) || "Expected well-formed text"),
      Schema.annotations({ jsonSchema: { type: "object" } })
    )
  )
}

/** What a user has to say about the service. */
export const FeedbackDraft = Schema.Struct(fields)
export type FeedbackDraft = typeof FeedbackDraft.Type

export const Feedback = Schema.Struct({
  id: FeedbackId,
  user_id: UserId,
  ...fields,
  status: Schema.Literal("received"),
  created_at: Schema.DateTimeUtc
}).annotations({ identifier: "Feedback" })
export type Feedback = typeof Feedback.Type
