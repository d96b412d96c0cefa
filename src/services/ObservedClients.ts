import { Context, type Effect } from "effect"
import type { FilterGroup } from "../schema/Filter.ts"
import type { DhcpEventFilterField } from "../schema/FilterFields.ts"

export interface ClientQuery {
  /** A client matches by its events that do. */
  readonly events: FilterGroup<DhcpEventFilterField>
  /** Client-originated messages that there must be among those events. */
  readonly minRequests: number | undefined
  /** Whether clients that are known by their DUID alone count. */
  readonly withoutMac: boolean
  readonly limit: number
}

export interface MatchingClients {
  /** At most `limit` clients, by MAC or DUID, in the order of their octets. */
  readonly clients: ReadonlyArray<string>
  readonly total: number
  /** Clients that match but for having a MAC. */
  readonly skippedWithoutMac: number
}

/** The clients that were seen in the DHCP traffic. */
export class ObservedClients extends Context.Tag("services/ObservedClients")<
  ObservedClients,
  { readonly match: (query: ClientQuery) => Effect.Effect<MatchingClients> }
>() {}
