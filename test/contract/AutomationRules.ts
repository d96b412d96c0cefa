import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, type Layer, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { type AutomationRule, RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import { encodeCursor } from "../../src/schema/Page.ts"
import { Username } from "../../src/schema/User.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { Users } from "../../src/services/Users.ts"
import { ruleDraft } from "../support/arbitraries/rule.ts"
import { encoder, walk } from "./pages.ts"

const encode = encoder(RuleDraft)
const instant = fc.integer({ min: 0, max: 3 }).map((seconds) => DateTime.unsafeMake(1_800_000_000_000 + seconds * 1000))

const newUserId = Effect.gen(function*() {
  const users = yield* Users
  const username = Username.make(randomUUID())
  return (yield* users.create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
})

const draftOf = ({ created_at, created_by, id, revision, updated_at, updated_by, ...draft }: AutomationRule) => ({
  record: { created_at: DateTime.formatIso(created_at), created_by, id, revision, updated_by },
  updated: DateTime.formatIso(updated_at),
  draft: encode(draft)
})

/** What every implementation of `AutomationRules` keeps. */
export const automationRulesContract = (
  name: string,
  layer: Layer.Layer<AutomationRules | Users>,
  numRuns: number
) =>
  describe(`AutomationRules contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "a rule is what was last stated of it, until it is removed",
        [ruleDraft, ruleDraft, instant, instant],
        ([first, second, at, later]) =>
          Effect.gen(function*() {
            const rules = yield* AutomationRules
            const [author, editor] = [yield* newUserId, yield* newUserId]
            const id = RuleId.make(randomUUID())
            const created = yield* rules.create({ id, draft: first, by: author, at })
            const record = { id, revision: 1, created_at: DateTime.formatIso(at), created_by: author }
            assert.deepStrictEqual(draftOf(created), {
              record: { ...record, updated_by: author },
              updated: DateTime.formatIso(at),
              draft: encode(first)
            })
            assert.deepStrictEqual(draftOf(yield* rules.get(id)), draftOf(created))

            const updated = yield* rules.update(id, { draft: second, by: editor, at: later })
            assert.deepStrictEqual(draftOf(updated), {
              record: { ...record, revision: 2, updated_by: editor },
              updated: DateTime.formatIso(later),
              draft: encode(second)
            })
            assert.deepStrictEqual(draftOf(yield* rules.get(id)), draftOf(updated))

            yield* rules.remove(id)
            const refused = [
              yield* Effect.flip(rules.get(id)),
              yield* Effect.flip(rules.update(id, { draft: first, by: author, at })),
              yield* Effect.flip(rules.remove(id))
            ]
            for (const error of refused) {
              assert.isTrue(error._tag === "AutomationRules/RuleMissing" && error.id === id)
            }
          }),
        { fastCheck: { numRuns } }
      )

      it.effect.prop(
        "the list has every rule once, newest first, however it is cut into pages",
        [fc.array(fc.tuple(ruleDraft, instant), { maxLength: 8 }), fc.integer({ min: 1, max: 4 })],
        ([drafts, limit]) =>
          Effect.gen(function*() {
            const rules = yield* AutomationRules
            const by = yield* newUserId
            const created = yield* Effect.forEach(
              drafts,
              ([draft, at]) => rules.create({ id: RuleId.make(randomUUID()), draft, by, at })
            )
            const newestFirst = created
              .map(({ created_at, id }) => `${DateTime.formatIso(created_at)} ${id}`).sort().reverse()
            const pages = yield* walk(limit, rules.list)
            for (const page of pages) assert.strictEqual(page.total, drafts.length)
            assert.deepStrictEqual(
              pages.flatMap(({ items }) =>
                items.map(({ created_at, id }) => `${DateTime.formatIso(created_at)} ${id}`)
              ),
              newestFirst
            )
            assert.lengthOf(pages, Math.max(1, Math.ceil(drafts.length / limit)))
            yield* Effect.forEach(created, ({ id }) => rules.remove(id))
          }),
        { fastCheck: { numRuns: Math.ceil(numRuns / 2) } }
      )

      it.effect("what is no cursor of the list is refused", () =>
        Effect.gen(function*() {
          const rules = yield* AutomationRules
          const id = randomUUID()
          const wrong = [
            "",
            "nonsense",
            "\0",
            encodeCursor([]),
            encodeCursor([1, "' OR 1=1 --"]),
            encodeCursor([id, 1]),
            encodeCursor([0.5, id]),
            encodeCursor([-1, id]),
            encodeCursor([1e300, id]),
            encodeCursor([1, id, 2])
          ]
          for (const cursor of wrong) {
            assert.strictEqual((yield* Effect.flip(rules.list({ limit: 10, cursor })))._tag, "Page/InvalidCursor")
          }
          const beyond = yield* rules.list({ limit: 10, cursor: encodeCursor([0, id]) })
          assert.deepStrictEqual(beyond, { items: [], total: 0, next: null })
        }))
    })
  })
