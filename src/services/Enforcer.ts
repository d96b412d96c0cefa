import { Context, Data, type Effect } from "effect"

/** The packet filter could not be made equal to the desired state; `message` says why, in one line. */
export class EnforcementFailed extends Data.TaggedError("Enforcer/EnforcementFailed")<{ readonly message: string }> {}

/** Makes the packet filter equal to the actions in force. */
export class Enforcer extends Context.Tag("services/Enforcer")<
  Enforcer,
  {
    /** Brings what changed since the last pass into the packet filter, in one transaction. */
    readonly pass: Effect.Effect<void, EnforcementFailed>
    /** As `pass`, from a fresh look at the packet filter and at all actions: repairs whatever differs. */
    readonly verify: Effect.Effect<void, EnforcementFailed>
    /** How many expired actions would be, or were, taken out of the packet filter and then marked. */
    readonly cleanup: (
      options: { readonly dryRun: boolean; readonly limit: number }
    ) => Effect.Effect<number, EnforcementFailed>
  }
>() {}
