import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { Mac } from "../../src/schema/Mac.ts"
import { RunId } from "../../src/schema/RuleRun.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { Actions } from "../../src/services/Actions.ts"
import type { AutomationRules } from "../../src/services/AutomationRules.ts"
import { DesiredMacs } from "../../src/services/DesiredMacs.ts"
import { ProtectedMacs } from "../../src/services/ProtectedMacs.ts"
import { RuleLedger } from "../../src/services/RuleLedger.ts"
import { RuleTargets } from "../../src/services/RuleTargets.ts"
import type { Users } from "../../src/services/Users.ts"
import { newRule } from "../support/automationRows.ts"
import { newUserId, order, play, script, start } from "./enforcementScript.ts"
import { detection, names, runOf } from "./ledgerScript.ts"

type Stores = Actions | ProtectedMacs | DesiredMacs | RuleTargets | RuleLedger | AutomationRules | Users

const gateway = Schema.decodeSync(Mac)("02:ff:00:00:00:01")

/** What every implementation of `Actions`, `ProtectedMacs`, `DesiredMacs` and `RuleTargets` keeps together. */
export const enforcementContract = (
  name: string,
  stores: () => Layer.Layer<Stores>,
  twin: Layer.Layer<Stores>,
  runs: number
) =>
  describe(`contract of actions and what they ask of the packet filter: ${name}`, () => {
    layer(stores())((it) => {
      it.effect.prop("whatever is done in turn, it answers as its twin in memory", [script], ([script]) =>
        Effect.gen(function*() {
          const seen = yield* play(script)
          assert.deepStrictEqual(seen, yield* Effect.provide(play(script), Layer.fresh(twin)))
          assert.isTrue(seen.every(({ sameAsWhole }) =>
            sameAsWhole
          ))
        }), { fastCheck: { numRuns: runs } })

      it.effect("a rule's targets are the clients with an action in force that one of its runs ordered", () =>
        Effect.gen(function*() {
          yield* TestClock.setTime(DateTime.toEpochMillis(start))
          const at = yield* DateTime.now
          const named = names(randomUUID().slice(0, 8))
          const [rule, other] = yield* Effect.all([newRule({}), newRule({})])
          const run = RunId.make(randomUUID())
          const outcome = yield* (yield* RuleLedger).enforce({
            rule: rule.id,
            run,
            at,
            detections: [0, 1, 2].map((client) =>
              detection(named, client, "v4")
            ),
            actions: [{ type: "block", duration_minutes: 60 }],
            cooldownUntil: at,
            seenAt: at,
            apartMinutes: 0,
            reason: "rule",
            ids: [0, 1, 2].map((index) => named.action(index))
          }, (outcome) => runOf(run, rule.id, at, outcome))
          assert.strictEqual(outcome.actions_triggered, 3)
          const targets = yield* RuleTargets
          const clients = [0, 1, 2].map((client) => detection(named, client, "v4").MAC)
          assert.sameMembers([...yield* targets.of(rule.id)], clients)
          assert.deepStrictEqual(yield* targets.of(other.id), [])
          yield* (yield* Actions).remove(named.action(1), at)
          assert.sameMembers([...yield* targets.of(rule.id)], [clients[0]!, clients[2]!])
          yield* TestClock.adjust("61 minutes")
          assert.deepStrictEqual(yield* targets.of(rule.id), [])
        }))
    })

    const limits = { protectedMacs: new Set<string>([gateway]), blocksPerHour: 3, bulkMax: 10 }
    layer(Layer.provide(stores(), Layer.succeed(ActionLimits, limits)))((it) => {
      it.effect("holds to the blocks of an hour and to the configured never-block list", () =>
        Effect.gen(function*() {
          yield* TestClock.setTime(DateTime.toEpochMillis(start))
          const mac = (index: number) => `02:00:00:00:01:0${index}`
          const outcomes = (...indexes: ReadonlyArray<number>) =>
            Effect.forEach(indexes, (index) =>
              Effect.match(order(mac(index), "block", 5), {
                onFailure: ({ reason }): string => reason,
                onSuccess: ({ created }) => created ? "created" : "held"
              }))
          assert.deepStrictEqual(yield* outcomes(0, 1, 0), ["created", "created", "held"])
          yield* TestClock.adjust("30 minutes")
          assert.deepStrictEqual(yield* outcomes(2, 3, 0), ["created", "hourly_cap", "hourly_cap"])
          yield* TestClock.adjust("30 minutes")
          assert.deepStrictEqual(yield* outcomes(3, 4, 5), ["created", "created", "hourly_cap"])
          const refusal = yield* Effect.flip(order(gateway, "quarantine"))
          assert.strictEqual(refusal.reason, "protected")
          yield* order(gateway, "allow")
          const protectedMacs = yield* ProtectedMacs
          const by = yield* newUserId
          yield* protectedMacs.add({ mac: gateway, comment: "mine", by, at: yield* DateTime.now })
          const [entry, ...rest] = yield* protectedMacs.list
          assert.deepInclude(entry, { mac: gateway, source: "config", created_by: null })
          assert.deepStrictEqual(rest, [])
        }))
    })
  })
