import { DateTime, Effect, Layer } from "effect"
import { actionAt } from "../../src/services/Actions.ts"
import { Enforcer } from "../../src/services/Enforcer.ts"
import { AutomationState, AutomationStateMemory } from "./AutomationState.ts"

/** An enforcer without a packet filter: it only marks what has expired. */
export const EnforcerMemory = Layer.effect(
  Enforcer,
  Effect.map(AutomationState, ({ actions }) =>
    Enforcer.of({
      pass: Effect.void,
      verify: Effect.void,
      cleanup: ({ dryRun, limit }) =>
        Effect.map(DateTime.now, (now) => {
          const due = [...actions.values()].filter((action) =>
            action.status === "active" && actionAt(action, now).status === "expired"
          ).slice(0, limit)
          if (!dryRun) due.forEach((action) => actions.set(action.id, actionAt(action, now)))
          return due.length
        })
    }))
).pipe(Layer.provide(AutomationStateMemory))
