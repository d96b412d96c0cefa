import { Context, Data, type Effect } from "effect"
import type { Action, ActionId, ActionType } from "../schema/Action.ts"
import type { Page, PageRequest } from "../schema/Page.ts"

export class ActionMissing extends Data.TaggedError("Actions/ActionMissing")<{ readonly id: string }> {}

export interface ActionQuery extends PageRequest {
  readonly type?: ActionType | undefined
  readonly status?: Action["status"] | undefined
  readonly client?: string | undefined
}

/** What was decided about clients. */
export class Actions extends Context.Tag("services/Actions")<
  Actions,
  {
    readonly get: (id: ActionId) => Effect.Effect<Action, ActionMissing>
    /** Newest first. */
    readonly list: (query: ActionQuery) => Effect.Effect<Page<Action>>
  }
>() {}
