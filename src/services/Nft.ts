import { Context, Data, type Effect, type Option } from "effect"
import type { NftCommandObject, NftObject } from "../schema/Nftables.ts"

/** nft refused the transaction and nothing changed; `messages` are nft's own, one line each, without its file names. */
export class NftRejected extends Data.TaggedError("Nft/Rejected")<{ readonly messages: ReadonlyArray<string> }> {
  override get message() {
    return this.messages.join("; ")
  }
}

/** No verdict from nft: a tool, capability or namespace is missing, or it didn't answer in time; `reason` is one line. */
export class NftUnavailable extends Data.TaggedError("Nft/Unavailable")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** Where the rules act: a namespace of our own, a named namespace or the host's own one. */
export interface NftTargetName {
  readonly kind: "sandbox" | "netns" | "host"
  /** The name of the `netns`; otherwise the kind again. */
  readonly name: string
}

/** A named counter, with what it has counted since it was made or reset. */
export interface NftCounter {
  readonly name: string
  readonly packets: number
  readonly bytes: number
}

/** A TCP connection as packets tell it: the addresses of who opened it and of this host, and the port here. */
export interface Connection {
  readonly from: string
  readonly to: string
  readonly port: number
}

/** The packet filter of one network namespace, spoken to in libnftables JSON. */
export class Nft extends Context.Tag("services/Nft")<
  Nft,
  {
    readonly target: NftTargetName
    /** The version of the nft tool, such as `1.0.6`. */
    readonly version: Effect.Effect<string, NftUnavailable>
    /** Cheap proof that the ruleset can be read. */
    readonly probe: Effect.Effect<void, NftUnavailable>
    /** The whole running ruleset in list order, without `metainfo`. */
    readonly list: Effect.Effect<ReadonlyArray<NftObject>, NftUnavailable>
    /** The named counters of a table: none where there is no such table. */
    readonly counters: (
      table: { readonly family: string; readonly name: string }
    ) => Effect.Effect<ReadonlyArray<NftCounter>, NftUnavailable>
    /** The running ruleset without the elements of its sets: cheap whatever their size. */
    readonly structure: Effect.Effect<ReadonlyArray<NftObject>, NftUnavailable>
    /** What nft's own language calls these commands, which run in a namespace of their own that is then gone. */
    readonly render: (commands: ReadonlyArray<NftCommandObject>) => Effect.Effect<string, NftRejected | NftUnavailable>
    /** What would be listed of these commands on an empty ruleset: they run in a namespace of their own. */
    readonly rehearse: (
      commands: ReadonlyArray<NftCommandObject>
    ) => Effect.Effect<ReadonlyArray<NftObject>, NftRejected | NftUnavailable>
    /**
     * Whether a new connection like this one would come through these commands alone, tried in a namespace of its own;
     * none where that can't be tried here, or would not come through without them either.
     */
    readonly admits: (
      commands: ReadonlyArray<NftCommandObject>,
      connection: Connection
    ) => Effect.Effect<Option.Option<boolean>>
    /** The whole running ruleset as text without handles and counter values: equal texts mean equal rulesets. */
    readonly listText: Effect.Effect<string, NftUnavailable>
    /** The verdict on a transaction, which isn't committed. */
    readonly check: (
      commands: ReadonlyArray<NftCommandObject>
    ) => Effect.Effect<void, NftRejected | NftUnavailable>
    /**
     * Commits all commands or none. Not interruptible, since an abandoned transaction may have been committed; for
     * the same reason `NftUnavailable` leaves the outcome open: read `list` before acting on it.
     */
    readonly apply: (
      commands: ReadonlyArray<NftCommandObject>
    ) => Effect.Effect<void, NftRejected | NftUnavailable>
  }
>() {}
