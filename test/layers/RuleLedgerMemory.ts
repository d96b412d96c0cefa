import { DateTime, Effect, Layer } from "effect"
import { Action } from "../../src/schema/Action.ts"
import { clientOfDetection } from "../../src/schema/Detection.ts"
import { type ActionOrder, clientsOf, ordersOf, prolongs } from "../../src/services/ActionOrders.ts"
import { actionAt } from "../../src/services/Actions.ts"
import { RuleMissing } from "../../src/services/AutomationRules.ts"
import { type Enforcement, RuleLedger } from "../../src/services/RuleLedger.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"

export const RuleLedgerMemory = Layer.effect(
  RuleLedger,
  Effect.map(AutomationState, ({ actions, cooldowns, rules, runs }) => {
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
    const inForce = (order: ActionOrder, at: DateTime.Utc) => {
      for (const action of [...actions.values()]) {
        if (action.client !== order.client || action.type !== order.type || action.tag !== order.tag) continue
        const current = actionAt(action, at)
        actions.set(action.id, current)
        if (current.status === "active") return current
      }
      return undefined
    }
    /** Whether it changed anything. */
    const order = (wanted: ActionOrder, { at, reason, run }: Enforcement): boolean => {
      const held = inForce(wanted, at)
      if (held !== undefined && !prolongs(held.expires_at, wanted.expires_at)) return false
      const action = held ?? {
        ...wanted,
        status: "active" as const,
        reason,
        origin: { kind: "rule_run" as const, id: run },
        created_at: at,
        ended_at: null
      }
      actions.set(action.id, new Action({ ...action, expires_at: wanted.expires_at, synced_at: null }))
      return true
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
          const changed = ordersOf(enforcement, taken).filter((wanted) => order(wanted, enforcement))
          const run = conclude({ detections: taken, actionsTriggered: changed.length })
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
