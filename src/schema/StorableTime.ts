import { DateTime, Schema } from "effect"

/** An instant from 1970 to the end of year 9999, which any store can hold. */
export const StorableTime = Schema.DateTimeUtc.pipe(
  Schema.filter((at) => {
    const millis = DateTime.toEpochMillis(at)
    return (millis >= 0 && millis <= 253_402_300_799_999) || "Expected a time from 1970 to 9999"
  })
)
