import { Effect, Layer } from "effect"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { configured, ProtectedMacMissing, ProtectedMacs } from "../../src/services/ProtectedMacs.ts"
import { AutomationState, AutomationStateMemory } from "./AutomationState.ts"

export const ProtectedMacsMemory = Layer.effect(
  ProtectedMacs,
  Effect.gen(function*() {
    const { protectedMacs: entries } = yield* AutomationState
    const { protectedMacs } = yield* ActionLimits
    return ProtectedMacs.of({
      list: Effect.sync(() => configured(protectedMacs, [...entries.values()])),
      add: ({ at, by, comment, mac }) =>
        Effect.sync(() => {
          const known = entries.get(mac) ?? { created_by: by, created_at: at }
          const entry = { ...known, mac, comment, source: "list" as const }
          entries.set(mac, entry)
          return entry
        }),
      remove: (mac) => Effect.suspend(() => entries.delete(mac) ? Effect.void : Effect.fail(new ProtectedMacMissing()))
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
