import { Context, type Effect } from "effect"
import type { DhcpFilterId } from "../schema/DhcpFilter.ts"
import type { UserId } from "../schema/User.ts"
import type { UserSettings } from "../schema/UserSettings.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

/** Settings with their revision, 0 before anything was set. */
export interface Preference {
  readonly settings: UserSettings
  readonly revision: number
}

/** The settings of each user. */
export class Preferences extends Context.Tag("services/Preferences")<
  Preferences,
  {
    readonly get: (userId: UserId) => Effect.Effect<Preference>
    /** Changes what is given and nothing else, however many do so at once. */
    readonly merge: (
      userId: UserId,
      given: UserSettings,
      expected: Expected
    ) => Effect.Effect<Preference, RevisionMismatch>
    /** Sets a default filter that is this one to null. */
    readonly forgetFilter: (userId: UserId, filterId: DhcpFilterId) => Effect.Effect<void>
  }
>() {}
