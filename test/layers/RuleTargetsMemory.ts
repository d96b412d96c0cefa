import { DateTime, Effect, Layer } from "effect"
import { actionAt } from "../../src/services/Actions.ts"
import { RuleTargets } from "../../src/services/RuleTargets.ts"
import { AutomationState, AutomationStateMemory } from "./AutomationState.ts"

export const RuleTargetsMemory = Layer.effect(
  RuleTargets,
  Effect.map(AutomationState, ({ actions, runs }) =>
    RuleTargets.of({
      of: (rule) =>
        Effect.map(DateTime.now, (now) => {
          const own = new Set<string>([...runs.values()].filter((run) => run.rule_id === rule).map(({ id }) => id))
          const acted = [...actions.values()].filter((action) =>
            own.has(action.origin.id) && actionAt(action, now).status === "active"
          )
          return [...new Set(acted.map(({ client }) => client))]
        })
    }))
).pipe(Layer.provide(AutomationStateMemory))
