import { Context, Duration } from "effect"
import type { Quota } from "./SignInAttempts.ts"

export interface Limits {
  readonly session: {
    /** How long a token lives unless it is refreshed. */
    readonly expiresIn: Duration.Duration
    readonly idle: Duration.Duration
    /** How long a session lives however often it is refreshed. */
    readonly absolute: Duration.Duration
  }
  /** Failures of one account, and how long they lock it. */
  readonly lockout: Quota
  /** Sign-in attempts from one address. */
  readonly address: Quota
  /** Requests of one token. */
  readonly requests: Quota
}

/** How often and how long: on by default, set otherwise by configuration. */
export class SignInLimits extends Context.Reference<SignInLimits>()("services/SignInLimits", {
  defaultValue: (): Limits => ({
    session: { expiresIn: Duration.hours(1), idle: Duration.minutes(30), absolute: Duration.hours(12) },
    lockout: { max: 5, window: Duration.minutes(15) },
    address: { max: 10, window: Duration.minutes(1) },
    requests: { max: 6000, window: Duration.minutes(1) }
  })
}) {}

/** How long a login waits for its second factor, and how many codes it takes. */
export const challengeLimits = { expiresIn: Duration.seconds(300), tries: 5 } as const
