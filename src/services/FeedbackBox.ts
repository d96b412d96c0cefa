import { Context, Data, type DateTime, type Effect } from "effect"
import type { Feedback, FeedbackDraft, FeedbackId } from "../schema/Feedback.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"

/** The user has sent as much as an hour allows; the next is taken after `retryAfterSeconds`. */
export class FeedbackLimitReached extends Data.TaggedError("FeedbackBox/FeedbackLimitReached")<{
  readonly retryAfterSeconds: number
}> {}

/** What users had to say. */
export class FeedbackBox extends Context.Tag("services/FeedbackBox")<
  FeedbackBox,
  {
    /** Takes `feedbackPerHourMax` within an hour from each user. */
    readonly submit: (feedback: {
      readonly id: FeedbackId
      readonly userId: UserId
      readonly draft: FeedbackDraft
      readonly at: DateTime.Utc
    }) => Effect.Effect<Feedback, FeedbackLimitReached>
    /** Newest first. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<Feedback>, InvalidCursor>
  }
>() {}
