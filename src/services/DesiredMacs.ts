import { Context, type DateTime, type Effect, type Stream } from "effect"
import type { ActionId } from "../schema/Action.ts"
import type { EnforcedMacs } from "./enforcedElements.ts"
import type { EnforceFamily } from "./enforceTable.ts"

/** An action that has run out; `version` tells whether it changed since. */
export interface DueAction {
  readonly id: ActionId
  readonly client_mac: string
  readonly version: string
}

/** The MACs that the packet filter is behind of, and the last change that was read, 0 for none. */
export interface Behind {
  readonly macs: ReadonlyArray<string>
  readonly change: number
}

export type DueKind = "allow" | "any"

/** What the actions in force ask of the packet filter. */
export class DesiredMacs extends Context.Tag("services/DesiredMacs")<
  DesiredMacs,
  {
    /** Of these MACs or of all; nothing for a client that is exempt or on the never-block list. */
    readonly desired: (at: DateTime.Utc, macs?: ReadonlyArray<string>) => Effect.Effect<EnforcedMacs>
    readonly behind: Effect.Effect<Behind>
    /** Marks everything up to this change as being in these tables. */
    readonly markSynced: (
      change: number,
      at: DateTime.Utc,
      families: ReadonlyArray<EnforceFamily>
    ) => Effect.Effect<void>
    /** Actions that have run out and aren't marked so, those first that ran out first. */
    readonly due: (at: DateTime.Utc, kind: DueKind, limit: number) => Effect.Effect<ReadonlyArray<DueAction>>
    /** Marks those that still are due as expired, and gives their number. */
    readonly markExpired: (actions: ReadonlyArray<DueAction>, at: DateTime.Utc) => Effect.Effect<number>
    /** Tells of changes: `actions` that are unsynced, or `all` may be otherwise. It ends when the store is lost. */
    readonly changes: Stream.Stream<"actions" | "all">
  }
>() {}
