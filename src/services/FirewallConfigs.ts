import { Context, Data, type DateTime, type Effect } from "effect"
import type {
  FirewallConfig,
  FirewallConfigId,
  FirewallConfigSummary,
  FirewallDraft,
  FirewallRevision,
  FirewallStatus
} from "../schema/FirewallConfig.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

export class FirewallConfigMissing extends Data.TaggedError("FirewallConfigs/Missing")<{ readonly id: string }> {}

/** Another active configuration owns a table. */
export class TableOwned extends Data.TaggedError("FirewallConfigs/TableOwned")<{
  readonly table: string
  readonly owner: FirewallConfigId
}> {}

/** A configuration as it is kept; `edition` counts every change to it, also of what of it runs. */
export interface FirewallRecord extends FirewallConfig {
  readonly edition: number
}

/** A draft with what follows from its ruleset. */
export interface FirewallVersion {
  readonly draft: FirewallDraft
  readonly checksum: string
  readonly tables: ReadonlyArray<string>
  readonly by: UserId
  readonly at: DateTime.Utc
}

/** What of a configuration runs, as far as the store knows. */
export interface Applied {
  readonly version: number | null
  readonly at: DateTime.Utc | null
  /** The tables in the kernel that belong to the configuration. */
  readonly tables: ReadonlyArray<string>
  /** What the kernel listed of these tables once they were applied. */
  readonly baseline: ReadonlyArray<unknown>
}

export const notApplied: Applied = { version: null, at: null, tables: [], baseline: [] }

/** An apply under way: written before the kernel changes, so that a crash in between is noticed. */
export interface Intent {
  readonly version: number
  readonly tables: ReadonlyArray<string>
  /** The guard that is to bring the tables back, if any. */
  readonly guard: string | null
}

export interface FirewallState {
  readonly status: FirewallStatus
  readonly applied: Applied
  readonly intent: Intent | null
  /** Of an apply that waits for its confirmation. */
  readonly pending: { readonly guard: string; readonly deadline: DateTime.Utc; readonly previous: Applied } | null
}

/** The tables that a configuration has in the kernel, may have, or may get back. */
export const ownedBy = ({ applied, intent, pending }: FirewallState): ReadonlyArray<string> => [
  ...applied.tables,
  ...intent?.tables ?? [],
  ...pending?.previous.tables ?? []
]

export interface FirewallStanding extends FirewallState {
  readonly id: FirewallConfigId
  readonly name: string
}

/** The saved firewall configurations, their versions, and what of them runs. */
export class FirewallConfigs extends Context.Tag("services/FirewallConfigs")<
  FirewallConfigs,
  {
    readonly create: (id: FirewallConfigId, version: FirewallVersion) => Effect.Effect<FirewallRecord>
    /** Deleted ones too. */
    readonly get: (id: FirewallConfigId) => Effect.Effect<FirewallRecord, FirewallConfigMissing>
    /** Newest first; deleted ones only where they are asked for. */
    readonly list: (
      page: PageRequest & { readonly deleted: boolean }
    ) => Effect.Effect<Page<FirewallConfigSummary>, InvalidCursor>
    /** Saves the next version; a deleted one is missing. */
    readonly update: (
      id: FirewallConfigId,
      version: FirewallVersion,
      expected?: Expected
    ) => Effect.Effect<FirewallRecord, FirewallConfigMissing | RevisionMismatch>
    /** All versions, newest first. */
    readonly revisions: (id: FirewallConfigId) => Effect.Effect<ReadonlyArray<FirewallRevision>, FirewallConfigMissing>
    readonly revision: (
      id: FirewallConfigId,
      version: number
    ) => Effect.Effect<FirewallRevision, FirewallConfigMissing>
    readonly standing: (id: FirewallConfigId) => Effect.Effect<FirewallStanding, FirewallConfigMissing>
    /** Those that own tables in the kernel or are about to. */
    readonly standings: Effect.Effect<ReadonlyArray<FirewallStanding>>
    /** Takes down a state; a table of `applied` or of `intent` that another active configuration has is refused. */
    readonly settle: (
      id: FirewallConfigId,
      state: FirewallState
    ) => Effect.Effect<void, FirewallConfigMissing | TableOwned>
    readonly setDeleted: (id: FirewallConfigId, deleted: boolean) => Effect.Effect<void, FirewallConfigMissing>
    /** Runs one effect at a time among all nodes. */
    readonly exclusively: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}
