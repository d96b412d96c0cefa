import { Context, Data, DateTime, type Effect } from "effect"
import { Action, type ActionId, type ActionType } from "../schema/Action.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"

export class ActionMissing extends Data.TaggedError("Actions/ActionMissing")<{ readonly id: string }> {}

export interface ActionQuery extends PageRequest {
  readonly type?: ActionType | undefined
  readonly status?: Action["status"] | undefined
  readonly client?: string | undefined
}

/** An action as it stands at this time: one that has run out is expired, whoever notices first. */
export const actionAt = (action: Action, now: DateTime.Utc): Action =>
  action.status === "active" && action.expires_at !== null && DateTime.lessThanOrEqualTo(action.expires_at, now)
    ? new Action({ ...action, status: "expired", ended_at: action.expires_at })
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
  }
>() {}
