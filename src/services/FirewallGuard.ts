import { Context, Data, type DateTime, type Effect } from "effect"
import type { NftCommandObject } from "../schema/Nftables.ts"

/** The guard can't be armed, or isn't within reach of this node; `reason` is one line. */
export class GuardUnavailable extends Data.TaggedError("FirewallGuard/Unavailable")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/**
 * How far a guard is; of `confirmed` and `restored` exactly one is ever reached. One that is `lost` restores nothing
 * any more; one that `failed` tried, and may be asked nothing further.
 */
export type GuardState =
  | { readonly kind: "lost" }
  | { readonly kind: "pending"; readonly deadline: DateTime.Utc }
  | { readonly kind: "restoring" }
  | { readonly kind: "confirmed" }
  | { readonly kind: "restored" }
  | { readonly kind: "failed" }

/**
 * Brings tables back at a deadline unless it is told not to, by a process outside of ours: also when this process and
 * its group were killed meanwhile.
 */
export class FirewallGuard extends Context.Tag("services/FirewallGuard")<
  FirewallGuard,
  {
    /** The name for a guard to come. */
    readonly name: Effect.Effect<string>
    /** Answers once the guard watches. The transactions are tried in order until nft takes one. */
    readonly arm: (
      guard: string,
      options: { readonly restore: ReadonlyArray<ReadonlyArray<NftCommandObject>>; readonly seconds: number }
    ) => Effect.Effect<{ readonly deadline: DateTime.Utc }, GuardUnavailable>
    readonly state: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>
    /** Calls the restoring off, or answers that it is too late. */
    readonly confirm: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>
    /** Moves the deadline to so many seconds from now, or answers that it is too late. */
    readonly extend: (guard: string, seconds: number) => Effect.Effect<GuardState, GuardUnavailable>
    /** Restores now, and answers when that is done; nothing where it was confirmed already. */
    readonly rollback: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>
    /** After a restart: the state, once an overdue restore is done and a guard that died watches again. */
    readonly revive: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>
    /** Forgets a guard that has decided. */
    readonly release: (guard: string) => Effect.Effect<void>
  }
>() {}
