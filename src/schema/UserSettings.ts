import { Schema } from "effect"

const timezone = Schema.String.pipe(
  Schema.maxLength(64),
  Schema.filter((zone) => {
    try {
      return new Intl.DateTimeFormat("en", { timeZone: zone }) !== undefined
    } catch {
      return "Expected an IANA time zone such as Europe/Berlin"
    }
  })
)

const language = Schema.String.pipe(
  Schema.maxLength(35),
  Schema.filter((tag) => {
    try {
      return Intl.getCanonicalLocales(tag).length === 1
    } catch {
      return "Expected a BCP 47 language tag such as en-GB"
    }
  })
)

const pattern = Schema.String.pipe(
  Schema.pattern(/^[^\p{C}]{1,64}$/u, { message: () => "Expected 1 to 64 characters" })
)

/** How a user likes to see things; every field is optional, and what was never set is absent. */
export const UserSettings = Schema.Struct({
  theme: Schema.optional(Schema.Literal("light", "dark", "system")),
  language: Schema.optional(language.annotations({ description: "BCP 47" })),
  timezone: Schema.optional(timezone.annotations({ description: "IANA time zone" })),
  date_format: Schema.optional(pattern),
  time_format: Schema.optional(pattern),
  week_start: Schema.optional(Schema.Literal("monday", "saturday", "sunday")),
  rows_per_page: Schema.optional(Schema.Int.pipe(Schema.between(1, 1000))),
  default_time_range: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,4}[mhdw]$/, { message: () => "Expected a duration such as 24h" }))
  ),
  refresh_interval_seconds: Schema.optional(
    Schema.Int.pipe(Schema.between(0, 86_400)).annotations({ description: "0 refreshes by hand only" })
  ),
  default_filter_id: Schema.optional(Schema.NullOr(Schema.UUID)),
  notifications: Schema.optional(Schema.Struct({
    email: Schema.optional(Schema.Boolean),
    in_app: Schema.optional(Schema.Boolean)
  }))
}).annotations({ identifier: "UserSettings" })
export type UserSettings = typeof UserSettings.Type

/** Settings with what is given in place of what was: the fields of `notifications` one by one. */
export const mergeSettings = (old: UserSettings, given: UserSettings): UserSettings => ({
  ...old,
  ...given,
  ...(given.notifications && { notifications: { ...old.notifications, ...given.notifications } })
})
