import { Effect, Layer, Schema } from "effect"
import { type AutomationRule, RuleDraft, type RuleId } from "../../src/schema/AutomationRule.ts"
import { AutomationRules, RuleMissing } from "../../src/services/AutomationRules.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"

// Drafts pass through JSON as on their way to a database.
const Stored = Schema.parseJson(RuleDraft)
const stored = (draft: RuleDraft): RuleDraft => Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(draft))

export const AutomationRulesMemory = Layer.effect(
  AutomationRules,
  Effect.map(AutomationState, ({ cooldowns, rules, runs }) => {
    const find = (id: RuleId) =>
      Effect.suspend(() => {
        const rule = rules.get(id)
        return rule === undefined ? Effect.fail(new RuleMissing({ id })) : Effect.succeed(rule)
      })
    const findExpected = (id: RuleId, expected: Expected) =>
      Effect.filterOrFail(
        find(id),
        ({ revision }) => isExpected(expected, revision),
        ({ revision }) => new RevisionMismatch({ revision })
      )
    const save = (rule: AutomationRule): AutomationRule => {
      rules.set(rule.id, rule)
      return rule
    }
    return AutomationRules.of({
      create: ({ at, by, draft, id }) =>
        Effect.sync(() =>
          save({
            ...stored(draft),
            id,
            revision: 1,
            created_by: by,
            updated_by: by,
            created_at: at,
            updated_at: at
          })
        ),
      get: find,
      list: (request) =>
        Effect.suspend(() => newestOf(rules.values(), request, ({ created_at, id }) => ({ at: created_at, id }))),
      update: (id, { at, by, draft, expected }) =>
        Effect.map(findExpected(id, expected), ({ created_at, created_by, revision }) =>
          save({
            ...stored(draft),
            id,
            revision: revision + 1,
            created_by,
            updated_by: by,
            created_at,
            updated_at: at
          })),
      remove: (id, expected) =>
        Effect.map(findExpected(id, expected), () => {
          rules.delete(id)
          cooldowns.delete(id)
          for (const run of [...runs.values()]) if (run.rule_id === id) runs.delete(run.id)
        })
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
