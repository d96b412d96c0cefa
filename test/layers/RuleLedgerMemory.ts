import { DateTime, Effect, Layer } from "effect"
import { clientOfDetection } from "../../src/schema/Detection.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { clientsOf, ordersOf } from "../../src/services/ActionOrders.ts"
import { RuleMissing } from "../../src/services/AutomationRules.ts"
import { type Enforcement, RuleLedger } from "../../src/services/RuleLedger.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"
import { placeInMemory } from "./ordersMemory.ts"

export const RuleLedgerMemory = Layer.effect(
  RuleLedger,
  Effect.gen(function*() {
    const state = yield* AutomationState
    const limits = yield* ActionLimits
    const { cooldowns, rules, runs } = state
    const claim = ({ at, cooldownUntil, detections, rule }: Enforcement) => {
      const held = cooldowns.get(rule) ?? new Map<string, DateTime.Utc>()
      cooldowns.set(rule, held)
      const free = clientsOf(detections).filter((client) => {
        const until = held.get(client)
        return until === undefined || DateTime.lessThanOrEqualTo(until, at)
      })
      for (const client of free) held.set(client, cooldownUntil)
      return new Set(free)
    }
    return RuleLedger.of({
      inCooldown: (rule, at) =>
        Effect.sync(() =>
          [...cooldowns.get(rule) ?? []].filter(([, until]) => DateTime.greaterThan(until, at))
            .map(([client]) => client).sort()
        ),
      record: (run) =>
        Effect.suspend(() => {
          if (!rules.has(run.rule_id)) return Effect.fail(new RuleMissing({ id: run.rule_id }))
          runs.set(run.id, run)
          return Effect.void
        }),
      enforce: (enforcement, conclude) =>
        Effect.suspend(() => {
          if (!rules.has(enforcement.rule)) return Effect.fail(new RuleMissing({ id: enforcement.rule }))
          const clients = claim(enforcement)
          const taken = enforcement.detections.filter((detection) => clients.has(clientOfDetection(detection)))
          const { changed, refused } = placeInMemory(state, limits, ordersOf(enforcement, taken), {
            at: enforcement.at,
            reason: enforcement.reason,
            origin: { kind: "rule_run", id: enforcement.run }
          })
          const run = conclude({
            detections: taken,
            actionsTriggered: changed.length,
            actionsRefused: refused.length
          })
          runs.set(run.id, run)
          return Effect.succeed(run)
        }),
      runs: (rule, request) =>
        Effect.suspend(() =>
          newestOf(
            [...runs.values()].filter((run) => run.rule_id === rule),
            request,
            ({ id, started_at }) => ({ at: started_at, id })
          )
        )
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
