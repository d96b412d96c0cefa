import { Context, Data, DateTime, type Effect } from "effect"
import { Action, type ActionId, type ActionOrigin, type ActionType } from "../schema/Action.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { ActionOrder, RefusalReason } from "./ActionOrders.ts"

export class ActionMissing extends Data.TaggedError("Actions/ActionMissing")<{ readonly id: string }> {}

/** The order is not carried out, and nothing changed. */
export class ActionRefused extends Data.TaggedError("Actions/ActionRefused")<{ readonly reason: RefusalReason }> {}

/** Who orders an action, when and why. */
export interface OrderedBy {
  readonly at: DateTime.Utc
  readonly reason: string
  readonly origin: ActionOrigin
}

export interface ActionQuery extends PageRequest {
  readonly type?: ActionType | undefined
  readonly status?: Action["status"] | undefined
  readonly client?: string | undefined
}

/** An action as it stands at this time: one that has run out is expired, whoever notices first. */
export const actionAt = (action: Action, now: DateTime.Utc): Action =>
  action.status === "active" && action.expires_at !== null && DateTime.lessThanOrEqualTo(action.expires_at, now)
    ? new Action({ ...action, status: "expired", ended_at: action.expires_at, enforced_at: [] })
    : action

/** What was decided about clients. */
export class Actions extends Context.Tag("services/Actions")<
  Actions,
  {
    readonly get: (id: ActionId) => Effect.Effect<Action, ActionMissing>
    /** Newest first. */
    readonly list: (query: ActionQuery) => Effect.Effect<Page<Action>, InvalidCursor>
    /** The clients that are blocked now: those with a block in force and no `allow`, which beats it; in order. */
    readonly blockedClients: Effect.Effect<ReadonlyArray<string>>
    /** The action that is in force afterwards: a new one, or the one of its kind that was and ends no sooner. */
    readonly order: (
      order: ActionOrder,
      by: OrderedBy
    ) => Effect.Effect<{ readonly action: Action; readonly created: boolean }, ActionRefused>
    /** Ends an action that is in force; one that has ended stays as it is. */
    readonly remove: (id: ActionId, at: DateTime.Utc) => Effect.Effect<Action, ActionMissing>
    /** Ends all that is in force, and gives their number. */
    readonly removeAll: (at: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
