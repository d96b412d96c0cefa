import { DateTime, Effect, Layer } from "effect"
import type { RuleId } from "../../src/schema/AutomationRule.ts"
import { clientOfDetection } from "../../src/schema/Detection.ts"
import { type RuleRun, type RunId, verdictOf } from "../../src/schema/RuleRun.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { clientsOf, ordersOf } from "../../src/services/ActionOrders.ts"
import { RuleMissing } from "../../src/services/AutomationRules.ts"
import { DueLost } from "../../src/services/DueWindows.ts"
import { detectionEvents, runEvents } from "../../src/services/ruleEvents.ts"
import { type Enforcement, RuleLedger } from "../../src/services/RuleLedger.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"
import { placeInMemory } from "./ordersMemory.ts"
import { ServiceEventsMemory } from "./ServiceEventsMemory.ts"

export const RuleLedgerMemory = Layer.effect(
  RuleLedger,
  Effect.gen(function*() {
    const state = yield* AutomationState
    const limits = yield* ActionLimits
    const events = yield* ServiceEvents
    const { actions, cooldowns, rules, runs, takes, windows } = state
    const takenNear = ({ apartMinutes, rule, seenAt }: Enforcement, client: string) =>
      takes.some((take) => {
        const apart = Math.abs(DateTime.distance(take.seenAt, seenAt))
        return take.rule === rule && take.client === client && apart < apartMinutes * 60_000
      })
    const claim = (enforcement: Enforcement) => {
      const { at, cooldownUntil, detections, rule, seenAt } = enforcement
      const held = cooldowns.get(rule) ?? new Map<string, DateTime.Utc>()
      cooldowns.set(rule, held)
      const free = clientsOf(detections).filter((client) => {
        const until = held.get(client)
        return (until === undefined || DateTime.lessThanOrEqualTo(until, at)) && !takenNear(enforcement, client)
      })
      for (const client of free) held.set(client, cooldownUntil)
      for (const client of free) takes.push({ rule, client, seenAt })
      return new Set(free)
    }
    const snapshot = (rule: RuleId) => {
      const before = { actions: [...actions], takes: takes.length }
      const held = new Map(cooldowns.get(rule))
      return () => {
        cooldowns.set(rule, held)
        actions.clear()
        for (const [id, action] of before.actions) actions.set(id, action)
        takes.splice(before.takes)
      }
    }
    const entryOf = (id: RunId) =>
      [...windows].find(([, { claim, window }]) => window.verdict === "running" && claim?.run === id)
    const settle = (run: RuleRun) => {
      const entry = run.due_at === null ? undefined : entryOf(run.id)
      if (entry === undefined) return
      const [key, { id, window }] = entry
      windows.set(key, {
        id,
        window: { ...window, verdict: verdictOf(run.status), reason: run.error },
        claim: undefined
      })
    }
    const isLost = (run: Pick<RuleRun, "id" | "due_at">) => run.due_at !== null && entryOf(run.id) === undefined

    return RuleLedger.of({
      inCooldown: (rule, at) =>
        Effect.sync(() =>
          [...cooldowns.get(rule) ?? []].filter(([, until]) => DateTime.greaterThan(until, at))
            .map(([client]) => client).sort()
        ),
      record: (run) =>
        Effect.suspend((): Effect.Effect<void, RuleMissing | DueLost> => {
          if (!rules.has(run.rule_id)) return Effect.fail(new RuleMissing({ id: run.rule_id }))
          if (isLost(run)) return Effect.fail(new DueLost({ run: run.id }))
          runs.set(run.id, run)
          settle(run)
          return events.publish(runEvents(rules.get(run.rule_id)!, run))
        }),
      enforce: (enforcement, conclude) =>
        Effect.suspend((): Effect.Effect<RuleRun, RuleMissing | DueLost> => {
          if (!rules.has(enforcement.rule)) return Effect.fail(new RuleMissing({ id: enforcement.rule }))
          const undo = snapshot(enforcement.rule)
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
          if (isLost(run)) {
            undo()
            return Effect.fail(new DueLost({ run: run.id }))
          }
          runs.set(run.id, run)
          settle(run)
          const rule = rules.get(enforcement.rule)!
          return Effect.as(events.publish(detectionEvents(rule, run.id, enforcement.at, taken)), run)
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
).pipe(Layer.provide([AutomationStateMemory, ServiceEventsMemory]))
