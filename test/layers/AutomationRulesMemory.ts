import { DateTime, Effect, Layer, Schema } from "effect"
import { type AutomationRule, RuleDraft, type RuleId } from "../../src/schema/AutomationRule.ts"
import { AutomationRules, RuleMissing } from "../../src/services/AutomationRules.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"

// Drafts pass through JSON as on their way to a database.
const Stored = Schema.parseJson(RuleDraft)
const stored = (draft: RuleDraft): RuleDraft => Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(draft))

export const AutomationRulesMemory = Layer.effect(
  AutomationRules,
  Effect.map(AutomationState, ({ cooldowns, rules, runs, spans, windows }) => {
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
    /** The open span of a rule follows its latest change. */
    const respan = ({ enabled, id, schedule, updated_at }: AutomationRule) => {
      const open = [...spans.values()].find((span) => span.rule === id && span.until === null)
      const scheduled = enabled && schedule.type !== "manual"
      const same = scheduled && open !== undefined && JSON.stringify(open.schedule) === JSON.stringify(schedule)
      if (same) return
      if (open !== undefined) spans.set(open.id, { ...open, until: DateTime.max(open.since, updated_at) })
      const next = Math.max(0, ...spans.keys()) + 1
      if (scheduled) {
        spans.set(next, { id: next, rule: id, schedule, since: updated_at, until: null, settled: updated_at })
      }
    }
    const save = (rule: AutomationRule): AutomationRule => {
      rules.set(rule.id, rule)
      respan(rule)
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
          for (const span of [...spans.values()]) if (span.rule === id) spans.delete(span.id)
          for (const [key, { window }] of [...windows]) if (window.rule_id === id) windows.delete(key)
          for (const run of [...runs.values()]) if (run.rule_id === id) runs.delete(run.id)
        })
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
