import { DateTime, Effect, Layer } from "effect"
import { type Feedback, feedbackPerHourMax } from "../../src/schema/Feedback.ts"
import { FeedbackBox, FeedbackLimitReached } from "../../src/services/FeedbackBox.ts"
import { newestOf } from "./AutomationState.ts"

const hour = 3_600_000

export const FeedbackBoxMemory = Layer.sync(FeedbackBox, () => {
  const all: Array<Feedback> = []
  return FeedbackBox.of({
    submit: ({ at, draft, id, userId }) =>
      Effect.suspend(() => {
        const now = DateTime.toEpochMillis(at)
        const recent = all.filter((feedback) => feedback.user_id === userId)
          .map(({ created_at }) => DateTime.toEpochMillis(created_at)).filter((time) => time > now - hour)
          .sort((a, b) => b - a)
        const oldest = recent[feedbackPerHourMax - 1]
        if (oldest !== undefined) {
          const retryAfterSeconds = Math.max(1, Math.ceil((oldest + hour - now) / 1000))
          return Effect.fail(new FeedbackLimitReached({ retryAfterSeconds }))
        }
        const feedback: Feedback = { ...draft, id, user_id: userId, status: "received", created_at: at }
        all.push(feedback)
        return Effect.succeed(feedback)
      }),
    list: (request) => Effect.suspend(() => newestOf(all, request, ({ created_at, id }) => ({ at: created_at, id })))
  })
})
