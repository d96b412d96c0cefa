import { Context, type DateTime, type Effect } from "effect"
import type { UserId } from "../schema/User.ts"

/** Whose key it is, and for what; the same text elsewhere is another key. */
export interface KeyScope {
  readonly userId: UserId
  readonly method: string
  readonly path: string
  readonly key: string
}

/** An answer as it was given. */
export interface RememberedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Claim =
  | { readonly _tag: "Granted" }
  | { readonly _tag: "Answered"; readonly answer: RememberedAnswer }
  | { readonly _tag: "InFlight" }
  | { readonly _tag: "Reused" }

/**
 * Remembers the answers to requests that carry a key. Of any number of equal requests at once exactly one is granted
 * the work; where its node dies the next one is, once the lease is over.
 */
export class IdempotencyKeys extends Context.Tag("services/IdempotencyKeys")<
  IdempotencyKeys,
  {
    readonly claim: (request: {
      readonly scope: KeyScope
      /** Tells this work on the key from any later one. */
      readonly claimId: string
      /** Equal for equal bodies. */
      readonly fingerprint: string
      readonly at: DateTime.Utc
      readonly leaseUntil: DateTime.Utc
      readonly expiresAt: DateTime.Utc
    }) => Effect.Effect<Claim>
    /** Prolongs the lease; false where the work was given to another. */
    readonly renew: (scope: KeyScope, claimId: string, leaseUntil: DateTime.Utc) => Effect.Effect<boolean>
    /** Keeps the answer; false where the work was given to another. */
    readonly finish: (scope: KeyScope, claimId: string, answer: RememberedAnswer) => Effect.Effect<boolean>
    /** Gives the key back unused. */
    readonly release: (scope: KeyScope, claimId: string) => Effect.Effect<void>
    /** Forgets what has expired. */
    readonly forget: (at: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
