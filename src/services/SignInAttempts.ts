import { Context, type DateTime, type Duration, type Effect, type Option } from "effect"

/** At most `max` of something within any span of `window`. */
export interface Quota {
  readonly max: number
  readonly window: Duration.Duration
}

/** An attempt that may go on, as the `failures`-th failure unless it turns out right; or how long to wait instead. */
export type Reservation =
  | { readonly _tag: "Admitted"; readonly failures: number }
  | { readonly _tag: "Locked"; readonly retryAfter: Duration.Duration }

/**
 * Counts of sign-in attempts, shared by all nodes. Keys are opaque texts; whether anything exists under them plays no
 * part. Every call commits by itself, so that what was counted survives whatever happens to the request.
 */
export class SignInAttempts extends Context.Tag("services/SignInAttempts")<
  SignInAttempts,
  {
    /** Counts one attempt from an address; where there were `max` within the window: how long to wait, uncounted. */
    readonly admit: (
      address: string,
      quota: Quota,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<Duration.Duration>>
    /**
     * Counts an attempt on an account as failed before it is judged, so that attempts at once can't exceed the limit.
     * After `max` failures the account is locked until `window` after the last; failures that old are forgotten.
     */
    readonly reserve: (account: string, quota: Quota, now: DateTime.Utc) => Effect.Effect<Reservation>
    /** Takes one reservation back: the attempt was no failure, and no proof of the account's owner either. */
    readonly release: (account: string) => Effect.Effect<void>
    /** Forgets the failures of an account. */
    readonly clear: (account: string) => Effect.Effect<void>
    /** Forgets what is older than this and can't matter any more. */
    readonly purge: (before: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
