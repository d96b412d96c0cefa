import { Context, Data, type DateTime, type Effect } from "effect"
import type { FirewallConfigId, FirewallDiff, FirewallDraft, Ruleset, RulesetError } from "../schema/FirewallConfig.ts"
import type { NftObject } from "../schema/Nftables.ts"
import type { UserId } from "../schema/User.ts"
import type { Judgement } from "./firewall/judge.ts"
import type { FirewallConfigMissing, FirewallRecord, TableOwned } from "./FirewallConfigs.ts"
import type { GuardUnavailable } from "./FirewallGuard.ts"
import type { Connection, NftUnavailable } from "./Nft.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

/** The ruleset can't be applied; nothing changed. */
export class RulesetRejected extends Data.TaggedError("Firewall/RulesetRejected")<{
  readonly errors: ReadonlyArray<RulesetError>
}> {}

/** Tables of these names run, and no configuration applied them. */
export class TableForeign extends Data.TaggedError("Firewall/TableForeign")<{
  readonly tables: ReadonlyArray<string>
}> {}

/** An apply of this configuration waits for its confirmation. */
export class ApplyPending extends Data.TaggedError("Firewall/ApplyPending")<{ readonly deadline: DateTime.Utc }> {}

/** Nothing waits for a confirmation, or its time had run out and the tables from before are back. */
export class NothingPending extends Data.TaggedError("Firewall/NothingPending")<{ readonly restored: boolean }> {}

/** The configuration was saved again since the version that was expected. */
export class VersionConflict extends Data.TaggedError("Firewall/VersionConflict")<{ readonly version: number }> {}

export interface ApplyRequest {
  readonly confirmSeconds: number | undefined
  readonly comment: string | undefined
  readonly expectedVersion: number | undefined
  readonly adopt: boolean
}

export interface AppliedAnswer {
  readonly config: Omit<FirewallRecord, "ruleset">
  readonly revision: number
  readonly previousRevision: number | null
  readonly diff: FirewallDiff
}

/** What of one active configuration runs otherwise than it was applied. */
export interface Drift {
  readonly id: FirewallConfigId
  readonly name: string
  readonly tables: ReadonlyArray<string>
  readonly diff: FirewallDiff
}

export interface RunningRuleset {
  readonly nftables: ReadonlyArray<NftObject>
  readonly drift: ReadonlyArray<Drift>
  /** Tables that no configuration owns. */
  readonly foreign: ReadonlyArray<string>
}

/** The packet filter or a guard can't be reached. */
export type Unreachable = NftUnavailable | GuardUnavailable

/** Firewall configurations: judged, applied, guarded and taken back. */
export class Firewall extends Context.Tag("services/Firewall")<
  Firewall,
  {
    /** With a `caller`, also a warning where its connection would be refused, as far as that can be tried. */
    readonly validate: (ruleset: Ruleset, caller?: Connection) => Effect.Effect<Judgement, NftUnavailable>
    readonly create: (draft: FirewallDraft, by: UserId) => Effect.Effect<FirewallRecord, RulesetRejected>
    readonly update: (
      id: FirewallConfigId,
      draft: FirewallDraft,
      by: UserId,
      expected?: Expected
    ) => Effect.Effect<FirewallRecord, RulesetRejected | FirewallConfigMissing | RevisionMismatch>
    readonly apply: (
      id: FirewallConfigId,
      request: ApplyRequest
    ) => Effect.Effect<
      AppliedAnswer,
      | FirewallConfigMissing
      | RulesetRejected
      | TableOwned
      | TableForeign
      | ApplyPending
      | VersionConflict
      | Unreachable
    >
    readonly confirm: (
      id: FirewallConfigId
    ) => Effect.Effect<FirewallRecord, FirewallConfigMissing | NothingPending | Unreachable>
    readonly extend: (
      id: FirewallConfigId,
      seconds: number
    ) => Effect.Effect<FirewallRecord, FirewallConfigMissing | NothingPending | Unreachable>
    readonly rollback: (
      id: FirewallConfigId
    ) => Effect.Effect<FirewallRecord, FirewallConfigMissing | NothingPending | Unreachable>
    /** Takes its tables out of the kernel and marks it as deleted; whether it was active before. */
    readonly remove: (
      id: FirewallConfigId,
      expected?: Expected
    ) => Effect.Effect<
      { readonly deactivated: boolean },
      FirewallConfigMissing | ApplyPending | RevisionMismatch | Unreachable
    >
    /** What applying it now would change. */
    readonly diff: (id: FirewallConfigId) => Effect.Effect<FirewallDiff, FirewallConfigMissing | NftUnavailable>
    /** The saved ruleset in nft's own language. */
    readonly exported: (
      id: FirewallConfigId
    ) => Effect.Effect<string, FirewallConfigMissing | RulesetRejected | NftUnavailable>
    readonly running: Effect.Effect<RunningRuleset, NftUnavailable>
    /** Compares what was applied with many elements with what the kernel has, once it has rested for some seconds. */
    readonly verify: Effect.Effect<void, NftUnavailable>
    /** Makes the store agree with what guards did and with what a crash left undone; `start` also reapplies. */
    readonly reconcile: (start: boolean) => Effect.Effect<void, Unreachable>
  }
>() {}
