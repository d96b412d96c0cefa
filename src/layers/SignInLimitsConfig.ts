import { Config, Duration, Layer } from "effect"
import type { Quota } from "../services/SignInAttempts.ts"
import { SignInLimits } from "../services/SignInLimits.ts"

const count = (name: string, fallback: number) =>
  Config.integer(name).pipe(
    Config.withDefault(fallback),
    Config.validate({ message: `${name} must be at least 1`, validation: (value) => value >= 1 })
  )
const time = (name: string, fallback: Duration.DurationInput): Config.Config<Duration.Duration> =>
  Config.duration(name).pipe(
    Config.withDefault(Duration.decode(fallback)),
    Config.validate({
      message: `${name} must be between 1 second and 30 days`,
      validation: (value: Duration.Duration) => Duration.between(value, { minimum: "1 second", maximum: "30 days" })
    })
  )
const perMinute = (name: string, fallback: number) =>
  Config.map(count(name, fallback), (max): Quota => ({ max, window: Duration.minutes(1) }))

/** The limits as the environment sets them. */
export const SignInLimitsConfig = Layer.effect(
  SignInLimits,
  Config.all({
    session: Config.all({
      expiresIn: time("NETOPS_SESSION_EXPIRES_IN", "1 hour"),
      idle: time("NETOPS_SESSION_IDLE", "30 minutes"),
      absolute: time("NETOPS_SESSION_ABSOLUTE", "12 hours")
    }),
    lockout: Config.all({
      max: count("NETOPS_LOCKOUT_FAILURES", 5),
      window: time("NETOPS_LOCKOUT_DURATION", "15 minutes")
    }),
    address: perMinute("NETOPS_LOGINS_PER_MINUTE", 10),
    requests: perMinute("NETOPS_REQUESTS_PER_MINUTE", 6000)
  })
)
