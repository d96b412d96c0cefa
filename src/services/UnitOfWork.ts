import { Context, type Effect } from "effect"

/** Makes the writes of several ports one: all of them are kept when the effect succeeds, none when it fails. */
export class UnitOfWork extends Context.Tag("services/UnitOfWork")<
  UnitOfWork,
  { readonly transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {}
