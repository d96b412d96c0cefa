import { DateTime, Effect, Layer } from "effect"
import type { ActionType } from "../../src/schema/Action.ts"
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
        }),
      blockedClients: Effect.map(DateTime.now, (now) => {
        const inForce = [...actions.values()].map((action) => actionAt(action, now)).filter(({ status }) =>
          status === "active"
        )
        const clients = (type: ActionType) =>
          new Set(inForce.filter((action) => action.type === type).map(({ client }) => client))
        const allowed = clients("allow")
        return [...clients("block")].filter((client) => !allowed.has(client)).sort()
      })
    }))
).pipe(Layer.provide(AutomationStateMemory))
