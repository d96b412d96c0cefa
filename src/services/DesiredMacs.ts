import { Context, type DateTime, type Effect, type Stream } from "effect"
import type { ActionId } from "../schema/Action.ts"
import type { EnforcedMacs } from "./enforcedElements.ts"

/** An action that the packet filter is behind of; `version` tells whether it changed since. */
export interface UnsyncedAction {
  readonly id: ActionId
  readonly client_mac: string
  readonly version: string
}

export type DueKind = "allow" | "any"

/** What the actions in force ask of the packet filter. */
export class DesiredMacs extends Context.Tag("services/DesiredMacs")<
  DesiredMacs,
  {
    /** Of these MACs or of all; nothing for a client that is exempt or on the never-block list. */
    readonly desired: (at: DateTime.Utc, macs?: ReadonlyArray<string>) => Effect.Effect<EnforcedMacs>
    readonly unsynced: Effect.Effect<ReadonlyArray<UnsyncedAction>>
    /** Marks those that haven't changed since they were read. */
    readonly markSynced: (actions: ReadonlyArray<UnsyncedAction>, at: DateTime.Utc) => Effect.Effect<void>
    /** Actions that have run out and aren't marked so, those first that ran out first. */
    readonly due: (at: DateTime.Utc, kind: DueKind, limit: number) => Effect.Effect<ReadonlyArray<UnsyncedAction>>
    /** Marks those that still are due as expired, and gives their number. */
    readonly markExpired: (actions: ReadonlyArray<UnsyncedAction>, at: DateTime.Utc) => Effect.Effect<number>
    /** Tells of changes: `actions` that are unsynced, or `all` may be otherwise. It ends when the store is lost. */
    readonly changes: Stream.Stream<"actions" | "all">
  }
>() {}
