import { Context, Data, type DateTime, type Effect, type Option } from "effect"
import type { IpRestriction, IpRestrictionDraft, IpRestrictionId, Rule } from "../schema/IpRestriction.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

export class RestrictionMissing extends Data.TaggedError("IpRestrictions/RestrictionMissing")<{}> {}
/** The entries that the change would leave don't pass the caller's check. */
export class RestrictionRefused extends Data.TaggedError("IpRestrictions/RestrictionRefused")<{}> {}
export class TooManyRestrictions extends Data.TaggedError("IpRestrictions/TooManyRestrictions")<{}> {}

/** An entry with the revision of its statement; matches don't count as changes. */
export interface Versioned {
  readonly entry: IpRestriction
  readonly revision: number
}

/** Whether the entries that a change would leave its user with are acceptable; nothing changes where they aren't. */
export type Admit = (after: ReadonlyArray<Rule>) => boolean

/** How often an entry decided since the last report. */
export interface Matches {
  readonly id: IpRestrictionId
  readonly count: number
  readonly last: DateTime.Utc
}

/** From where users may use the service. Changes to one user's entries happen one after the other. */
export class IpRestrictions extends Context.Tag("services/IpRestrictions")<
  IpRestrictions,
  {
    readonly create: (entry: {
      readonly id: IpRestrictionId
      readonly userId: UserId
      readonly draft: IpRestrictionDraft
      readonly by: UserId
      readonly at: DateTime.Utc
    }, admit: Admit) => Effect.Effect<Versioned, RestrictionRefused | TooManyRestrictions>
    readonly get: (id: IpRestrictionId) => Effect.Effect<Option.Option<Versioned>>
    /** By type, priority and id. */
    readonly ofUser: (userId: UserId) => Effect.Effect<ReadonlyArray<IpRestriction>>
    readonly setEnabled: (
      id: IpRestrictionId,
      change: { readonly enabled: boolean; readonly at: DateTime.Utc; readonly expected: Expected },
      admit: Admit
    ) => Effect.Effect<Versioned, RestrictionMissing | RestrictionRefused | RevisionMismatch>
    readonly remove: (
      id: IpRestrictionId,
      expected: Expected,
      admit: Admit
    ) => Effect.Effect<void, RestrictionMissing | RestrictionRefused | RevisionMismatch>
    /** A number that differs once any entry of any user was stated otherwise. */
    readonly revision: Effect.Effect<number>
    /** The enabled entries of all users, by user, with the revision that they are of. */
    readonly enabled: Effect.Effect<{
      readonly revision: number
      readonly rules: ReadonlyMap<UserId, ReadonlyArray<Rule>>
    }>
    readonly countMatches: (matches: ReadonlyArray<Matches>) => Effect.Effect<void>
  }
>() {}
