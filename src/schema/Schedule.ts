import { Cron, Duration, Either, Schema } from "effect"

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const every = /^([1-9]\d{0,5})([smhd])$/

/** Milliseconds of a text such as `30s`, `5m`, `2h`, `1d`; `undefined` where it is none. */
export const millisOf = (text: string): number | undefined => {
  const match = every.exec(text)
  return match === null ? undefined : Number(match[1]) * units[match[2] as keyof typeof units]
}

const interval = { min: Duration.seconds(5), max: Duration.days(7) }

export const Every = Schema.String.pipe(
  Schema.filter((text) => {
    const millis = millisOf(text)
    return (millis !== undefined && millis >= Duration.toMillis(interval.min) &&
      millis <= Duration.toMillis(interval.max)) || "Expected 5s to 7d, a number with s, m, h or d such as 5m"
  })
).annotations({ description: "Interval, a number with s, m, h or d", examples: ["5m"] })

export const TimeZoneName = Schema.String.pipe(
  Schema.filter((zone) => {
    if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(zone)) return "Expected an IANA time zone such as Europe/Berlin"
    try {
      new Intl.DateTimeFormat("en", { timeZone: zone })
      return true
    } catch {
      return "Expected an IANA time zone such as Europe/Berlin"
    }
  })
).annotations({ description: "IANA time zone", examples: ["Europe/Berlin"] })

const fires = (cron: Cron.Cron): boolean => {
  try {
    Cron.next(cron, new Date(0))
    return true
  } catch {
    return false
  }
}

const CronText = Schema.String.pipe(
  Schema.maxLength(120),
  Schema.filter((text) => {
    const cron = Cron.parse(text)
    if (Either.isLeft(cron)) return "Expected a cron expression of 5 or 6 fields such as */5 * * * *"
    return fires(cron.right) || "Expected a cron expression that has a date: this one never fires"
  })
).annotations({ description: "Cron expression, 5 fields or 6 with seconds first", examples: ["*/5 * * * *"] })

/** When a rule runs by itself; `manual` never does. */
export const RuleSchedule = Schema.Union(
  Schema.Struct({ type: Schema.Literal("manual") }),
  Schema.Struct({ type: Schema.Literal("interval"), every: Every }),
  Schema.Struct({
    type: Schema.Literal("cron"),
    cron: CronText,
    timezone: Schema.optionalWith(TimeZoneName, { default: () => "UTC" })
  })
)
export type RuleSchedule = typeof RuleSchedule.Type
