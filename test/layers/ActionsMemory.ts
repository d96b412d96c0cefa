import { DateTime, Effect, Layer } from "effect"
import { actionAt, ActionMissing, Actions } from "../../src/services/Actions.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"

export const ActionsMemory = Layer.effect(
  Actions,
  Effect.map(AutomationState, ({ actions }) =>
    Actions.of({
      get: (id) =>
        Effect.flatMap(DateTime.now, (now) => {
          const action = actions.get(id)
          return action === undefined ? Effect.fail(new ActionMissing({ id })) : Effect.succeed(actionAt(action, now))
        }),
      list: (query) =>
        Effect.flatMap(DateTime.now, (now) => {
          const found = [...actions.values()].map((action) => actionAt(action, now)).filter((action) =>
            (query.type === undefined || action.type === query.type) &&
            (query.status === undefined || action.status === query.status) &&
            (query.client === undefined || action.client === query.client)
          )
          return newestOf(found, query, ({ created_at, id }) => ({ at: created_at, id }))
        })
    }))
).pipe(Layer.provide(AutomationStateMemory))
