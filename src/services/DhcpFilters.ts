import { Context, Data, type DateTime, type Effect } from "effect"
import type { DhcpFilter, DhcpFilterDraft, DhcpFilterId, DhcpFilterUpdate } from "../schema/DhcpFilter.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

/** The user has no such filter. */
export class FilterMissing extends Data.TaggedError("DhcpFilters/FilterMissing")<{}> {}
export class TooManyFilters extends Data.TaggedError("DhcpFilters/TooManyFilters")<{}> {}

/** The saved filters on DHCP events, each of one user and known to no other. */
export class DhcpFilters extends Context.Tag("services/DhcpFilters")<
  DhcpFilters,
  {
    readonly create: (filter: {
      readonly id: DhcpFilterId
      readonly userId: UserId
      readonly draft: DhcpFilterDraft
      readonly at: DateTime.Utc
    }) => Effect.Effect<DhcpFilter, TooManyFilters>
    readonly get: (userId: UserId, id: DhcpFilterId) => Effect.Effect<DhcpFilter, FilterMissing>
    /** Newest first. */
    readonly list: (userId: UserId, page: PageRequest) => Effect.Effect<Page<DhcpFilter>, InvalidCursor>
    /** States new rules, and a new name where one is given. */
    readonly update: (
      userId: UserId,
      id: DhcpFilterId,
      change: { readonly update: DhcpFilterUpdate; readonly at: DateTime.Utc; readonly expected?: Expected }
    ) => Effect.Effect<DhcpFilter, FilterMissing | RevisionMismatch>
    readonly remove: (
      userId: UserId,
      id: DhcpFilterId,
      expected?: Expected
    ) => Effect.Effect<void, FilterMissing | RevisionMismatch>
    /** The revisions of those filters that exist; one round trip. */
    readonly revisions: (ids: ReadonlyArray<DhcpFilterId>) => Effect.Effect<ReadonlyMap<DhcpFilterId, number>>
  }
>() {}
