import { DateTime, Either, Schema } from "effect"
import { lookbackMinutesMax, type RuleDraft } from "../schema/AutomationRule.ts"
import type { Window } from "../schema/Detection.ts"
import { Instant } from "../schema/Time.ts"

const minute = 60_000

/** What is wrong with the asked range: the field, and what is expected of it. */
export interface WindowRefused {
  readonly field: "start" | "end"
  readonly message: string
}

const millis = Schema.decodeSync(Schema.compose(Instant, Schema.String))

/**
 * The window of an evaluation: the rule's lookback up to now, or the range that was asked for, of which either side
 * may be missing. At most seven days, as a lookback.
 */
export const windowOf = (
  rule: Pick<RuleDraft, "lookback_minutes">,
  asked: { readonly start?: string | undefined; readonly end?: string | undefined },
  now: DateTime.Utc
): Either.Either<Window, WindowRefused> => {
  const end = asked.end === undefined ? DateTime.toEpochMillis(now) : Date.parse(millis(asked.end))
  const start = asked.start === undefined ? end - rule.lookback_minutes * minute : Date.parse(millis(asked.start))
  if (start >= end) return Either.left({ field: "start", message: "Expected a start before the end" })
  if (end - start > lookbackMinutesMax * minute) {
    return Either.left({ field: "start", message: "Expected a range of at most seven days" })
  }
  return Either.right({ start: new Date(start), end: new Date(end) })
}
