import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Redacted, Schema, TestClock } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { type ActionId, ActionSpec } from "../../src/schema/Action.ts"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { UserId, Username } from "../../src/schema/User.ts"
import { Actions } from "../../src/services/Actions.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { RuleLedger } from "../../src/services/RuleLedger.ts"
import { Users } from "../../src/services/Users.ts"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { actionSpec } from "../support/arbitraries/rule.ts"
import { detection, type Names, names, play, runOf, script, start } from "./ledgerScript.ts"
import { walk } from "./pages.ts"

const twin = Layer.mergeAll(RuleLedgerMemory, ActionsMemory, AutomationRulesMemory)

const newSalt = Effect.sync(() => randomBytes(4).toString("hex"))
const newUserId = Effect.gen(function*() {
  const users = yield* Users
  const username = Username.make(randomUUID())
  return (yield* users.create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
})
const draft = Schema.decodeSync(RuleDraft)({ name: "busy", threshold: { min_requests: 1 } })
const newRules = Effect.fnUntraced(function*(named: Names, count: number) {
  const rules = yield* AutomationRules
  const by = yield* newUserId
  for (let index = 0; index < count; index++) yield* rules.create({ id: named.rule(index), draft, by, at: start })
})

interface Attempt {
  readonly rule: number
  readonly run: number
  readonly clients: ReadonlyArray<number>
  readonly specs: ReadonlyArray<ActionSpec>
  readonly at?: DateTime.Utc
}

const enforce = (named: Names, { at = start, clients, rule, run, specs }: Attempt) =>
  Effect.gen(function*() {
    const ledger = yield* RuleLedger
    let taken: ReadonlyArray<string> = []
    const recorded = yield* ledger.enforce({
      rule: named.rule(rule),
      run: named.run(run),
      at,
      detections: clients.map((client) => detection(named, client, "v4")),
      actions: specs,
      cooldownUntil: DateTime.add(at, { minutes: 10 }),
      seenAt: at,
      apartMinutes: 0,
      reason: `run ${run}`,
      ids: clients.flatMap((_, row) => specs.map((_, column): ActionId => named.action(run * 1000 + row * 10 + column)))
    }, (outcome) => {
      taken = outcome.detections.map(({ MAC }) => MAC)
      return runOf(named.run(run), named.rule(rule), at, outcome)
    })
    return { taken, triggered: recorded.actions_triggered }
  })

const activeOf = (client: string) =>
  Effect.gen(function*() {
    const actions = yield* Actions
    const pages = yield* walk(1000, (page) => actions.list({ ...page, client, status: "active" }))
    return pages.flatMap(({ items }) => items)
  })

/** What every implementation of `RuleLedger`, with its rules and actions, keeps. */
export const ruleLedgerContract = (
  name: string,
  layer: Layer.Layer<RuleLedger | Actions | AutomationRules | Users>,
  numRuns: number
) =>
  describe(`RuleLedger contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop("whatever is done in turn, it answers as its twin in memory", [script], ([script]) =>
        Effect.gen(function*() {
          const salt = yield* newSalt
          const seen = yield* play(script, salt, yield* newUserId)
          const expected = yield* Effect.provide(play(script, salt, UserId.make(1)), Layer.fresh(twin))
          assert.deepStrictEqual(seen, expected)
        }), { fastCheck: { numRuns } })

      it.effect("20 runs that detect the same clients at once act exactly once on each", () =>
        Effect.gen(function*() {
          const named = names(yield* newSalt)
          yield* TestClock.setTime(DateTime.toEpochMillis(start))
          yield* newRules(named, 1)
          const clients = Array.from({ length: 50 }, (_, index) =>
            index)
          const outcomes = yield* Effect.forEach(
            Array.from({ length: 20 }, (_, run) =>
              run),
            (run) =>
              enforce(named, {
                rule: 0,
                run,
                // each run has its own order of the clients
                clients: [...clients.slice(run), ...clients.slice(0, run)],
                specs: [{ type: "block", duration_minutes: 5 }]
              }),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            outcomes.flatMap(({ taken }) =>
              taken
            ).sort(),
            clients.map(named.mac).sort()
          )
          assert.strictEqual(outcomes.reduce((sum, { triggered }) => sum + triggered, 0), clients.length)
          for (const client of clients) assert.lengthOf(yield* activeOf(named.mac(client)), 1)
          const runs = yield* (yield* RuleLedger).runs(named.rule(0), { limit: 100 })
          assert.strictEqual(runs.total, 20)
        }))

      it.effect.prop(
        "runs of several rules at once keep one action in force of each kind, and take each client once a rule",
        [
          fc.array(
            fc.record({
              rule: fc.nat({ max: 2 }),
              clients: fc.uniqueArray(fc.nat({ max: 11 }), { minLength: 1, maxLength: 12 }),
              specs: fc.array(actionSpec.map((json) => Schema.decodeUnknownSync(ActionSpec)(json)), { maxLength: 3 })
            }),
            { minLength: 2, maxLength: 12 }
          )
        ],
        ([attempts]) =>
          Effect.gen(function*() {
            const named = names(yield* newSalt)
            yield* TestClock.setTime(DateTime.toEpochMillis(start))
            yield* newRules(named, 3)
            // Actions that have run out by then have to be ended in the same transactions.
            const before = DateTime.subtract(start, { minutes: 60 })
            const all = Array.from({ length: 12 }, (_, client) => client)
            yield* enforce(named, {
              rule: 0,
              run: 99,
              clients: all,
              specs: [{ type: "block", duration_minutes: 1 }, { type: "allow", duration_minutes: 1 }],
              at: before
            })
            const outcomes = yield* Effect.forEach(
              attempts,
              (attempt, run) => Effect.map(enforce(named, { ...attempt, run }), ({ taken }) => ({ ...attempt, taken })),
              { concurrency: "unbounded" }
            )
            for (const rule of [0, 1, 2]) {
              const own = outcomes.filter((outcome) => outcome.rule === rule)
              const detected = new Set(own.flatMap(({ clients }) => clients.map(named.mac)))
              assert.deepStrictEqual(own.flatMap(({ taken }) => taken).sort(), [...detected].sort())
            }
            for (const client of all.map(named.mac)) {
              const kinds = (yield* activeOf(client)).map(({ tag, type }) => `${type} ${tag ?? ""}`)
              const wanted = outcomes.filter(({ taken }) => taken.includes(client))
                .flatMap(({ specs }) => specs.map(({ tag, type }) => `${type} ${tag ?? ""}`))
              assert.deepStrictEqual(kinds.sort(), [...new Set(wanted)].sort())
            }
          }),
        { fastCheck: { numRuns: Math.ceil(numRuns / 2) } }
      )

      it.effect("a rule that is gone takes its cooldowns and runs along and leaves its actions", () =>
        Effect.gen(function*() {
          const named = names(yield* newSalt)
          const ledger = yield* RuleLedger
          yield* TestClock.setTime(DateTime.toEpochMillis(start))
          yield* newRules(named, 1)
          const attempt: Attempt = { rule: 0, run: 1, clients: [1], specs: [{ type: "block" }] }
          assert.deepStrictEqual(yield* enforce(named, attempt), { taken: [named.mac(1)], triggered: 1 })
          yield* (yield* AutomationRules).remove(named.rule(0))
          assert.deepStrictEqual(yield* ledger.inCooldown(named.rule(0), start), [])
          assert.deepStrictEqual(yield* ledger.runs(named.rule(0), { limit: 1 }), { items: [], total: 0, next: null })
          assert.strictEqual((yield* Effect.flip(enforce(named, attempt)))._tag, "AutomationRules/RuleMissing")
          const gone = runOf(named.run(2), named.rule(0), start)
          assert.strictEqual((yield* Effect.flip(ledger.record(gone)))._tag, "AutomationRules/RuleMissing")
          assert.deepStrictEqual((yield* activeOf(named.mac(1))).map(({ id }) => id), [named.action(1000)])
        }))
    })
  })
