import { Context, type DateTime, type Effect } from "effect"

/** Requests that one node saw of a token since it last said so. */
export interface RequestCount {
  /** UUID of the session or API token. */
  readonly token: string
  readonly windowStart: DateTime.Utc
  readonly requests: number
}

/** Requests per token and window, added up over all nodes. */
export class RequestCounts extends Context.Tag("services/RequestCounts")<
  RequestCounts,
  {
    /** Adds counts, each token at most once, and gives the sums over all nodes in their order. */
    readonly add: (counts: ReadonlyArray<RequestCount>) => Effect.Effect<ReadonlyArray<number>>
    readonly purge: (before: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
