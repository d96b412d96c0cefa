import { DateTime, Effect, Layer } from "effect"
import { Action, type ActionId, type ActionType } from "../../src/schema/Action.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { keyOfOrder } from "../../src/services/ActionOrders.ts"
import { actionAt, ActionMissing, ActionRefused, Actions } from "../../src/services/Actions.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"
import { placeInMemory } from "./ordersMemory.ts"

export const ActionsMemory = Layer.effect(
  Actions,
  Effect.gen(function*() {
    const state = yield* AutomationState
    const limits = yield* ActionLimits
    const { actions } = state
    const at = (id: ActionId, now: DateTime.Utc) => {
      const action = actions.get(id)
      return action === undefined ? Effect.fail(new ActionMissing({ id })) : Effect.succeed(actionAt(action, now))
    }
    const removed = (action: Action, now: DateTime.Utc) =>
      new Action({ ...action, status: "removed", ended_at: now, synced_at: null, enforced_at: [] })
    return Actions.of({
      get: (id) => Effect.flatMap(DateTime.now, (now) => at(id, now)),
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
      }),
      order: (order, by) =>
        Effect.suspend(() => {
          const { held, refused: [refusal] } = placeInMemory(state, limits, [order], by)
          if (refusal !== undefined) return Effect.fail(new ActionRefused({ reason: refusal.reason }))
          const known = held.get(keyOfOrder(order))
          const action = actionAt(actions.get(known?.id ?? order.id)!, by.at)
          return Effect.succeed({ action, created: known === undefined })
        }),
      remove: (id, now) =>
        Effect.map(at(id, now), (action) => {
          if (action.status !== "active") return action
          const ended = removed(action, now)
          actions.set(id, ended)
          return ended
        }),
      removeAll: (now) =>
        Effect.sync(() => {
          const active = [...actions.values()].filter((action) => actionAt(action, now).status === "active")
          for (const action of active) actions.set(action.id, removed(action, now))
          return active.length
        })
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
