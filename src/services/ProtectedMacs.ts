import { Context, Data, type DateTime, type Effect } from "effect"
import type { Mac } from "../schema/Mac.ts"
import type { ProtectedMac } from "../schema/ProtectedMac.ts"
import type { UserId } from "../schema/User.ts"

/** The MAC isn't on the list, or the configuration put it there. */
export class ProtectedMacMissing extends Data.TaggedError("ProtectedMacs/ProtectedMacMissing")<{}> {}

/** The never-block list: MACs of gateways, servers and the like that nothing here may block or quarantine. */
export class ProtectedMacs extends Context.Tag("services/ProtectedMacs")<
  ProtectedMacs,
  {
    /** Those of the configuration and those added, by MAC. */
    readonly list: Effect.Effect<ReadonlyArray<ProtectedMac>>
    /** Puts a MAC on the list, or gives the one that is there a new comment; what blocks it is lifted. */
    readonly add: (
      entry: { readonly mac: Mac; readonly comment: string; readonly by: UserId; readonly at: DateTime.Utc }
    ) => Effect.Effect<ProtectedMac>
    readonly remove: (mac: Mac) => Effect.Effect<void, ProtectedMacMissing>
  }
>() {}

const byMac = (a: ProtectedMac, b: ProtectedMac): number => a.mac < b.mac ? -1 : a.mac > b.mac ? 1 : 0

/** The whole list: the configuration stands above an entry for the same MAC. */
export const configured = (
  macs: ReadonlySet<string>,
  entries: ReadonlyArray<ProtectedMac>
): ReadonlyArray<ProtectedMac> =>
  [
    ...entries.filter(({ mac }) => !macs.has(mac)),
    ...[...macs].map((mac) => ({
      mac,
      comment: "NETOPS_PROTECTED_MACS",
      source: "config" as const,
      created_by: null,
      created_at: null
    }))
  ].sort(byMac)
