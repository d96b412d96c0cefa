import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Exit, type Layer, Option, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { LogPipelineDraft } from "../../src/schema/LogPipeline.ts"
import {
  NotificationRule,
  NotificationRuleDraft,
  NotificationRuleId,
  SilenceDraft,
  SilenceId
} from "../../src/schema/NotificationRule.ts"
import { Username } from "../../src/schema/User.ts"
import { LogPipelineChannel } from "../../src/services/LogPipelineChannel.ts"
import { NotificationRules, Silences } from "../../src/services/NotificationRules.ts"
import { Users } from "../../src/services/Users.ts"
import { encoder, walk } from "./pages.ts"

const json = encoder(NotificationRule)
const at = (second: number) => DateTime.unsafeMake(3_979_000_000_000 + second * 1000)
const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return (yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
})
const draft = Schema.decodeUnknownSync(NotificationRuleDraft)({
  name: "it's \"fine\" 😀",
  event_types: ["alarm.opened"],
  matchers: { rules: [{ field: "client", op: "eq", value: "02-BD-00-00-00-01" }] },
  group_by: ["client"]
})
const matchers = Schema.decodeUnknownSync(SilenceDraft)({
  matchers: { rules: [{ field: "severity", op: "eq", value: "info" }] },
  comment: "c",
  ends_at: "2100-01-01T00:00:00Z"
}).matchers
const settings = Schema.decodeUnknownSync(LogPipelineDraft)({ type: "http", uri: "https://logs.example/" })

/** What every implementation of `NotificationRules`, `Silences` and `LogPipelineChannel` keeps. */
export const notificationRulesContract = (
  name: string,
  layer: Layer.Layer<NotificationRules | Silences | LogPipelineChannel | Users>
) =>
  describe(`notification rules, silences and channel: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect("a rule is kept, listed, changed under its revision and removed", () =>
        Effect.gen(function*() {
          const [rules, by] = [yield* NotificationRules, yield* newUser]
          const id = NotificationRuleId.make(randomUUID())
          const made = yield* rules.create(id, { draft, by, at: at(0) })
          assert.deepStrictEqual(json(yield* rules.get(id)), json(made))
          assert.deepStrictEqual((json(made) as { matchers: unknown }).matchers, {
            match: "all",
            rules: [{ field: "client", op: "eq", value: "02:bd:00:00:00:01" }]
          })
          const change = { draft: { ...draft, enabled: false }, by, at: at(1) }
          const wrong = yield* Effect.flip(rules.update(id, { ...change, expected: [7] }))
          assert.deepInclude(wrong, { _tag: "Revision/RevisionMismatch", revision: 1 })
          assert.include((yield* rules.enabled).map((rule) => rule.id), id)
          const changed = yield* rules.update(id, { ...change, expected: [1] })
          assert.strictEqual(changed.revision, 2)
          assert.notInclude((yield* rules.enabled).map((rule) => rule.id), id)
          const pages = yield* walk(1, rules.list)
          assert.include(pages.flatMap(({ items }) => items).map((rule) => rule.id), id)
          assert.strictEqual((yield* Effect.flip(rules.remove(id, [1])))._tag, "Revision/RevisionMismatch")
          yield* rules.remove(id, [2])
          for (const gone of [rules.get(id), rules.remove(id), rules.update(id, change)]) {
            assert.strictEqual(
              (yield* Effect.flip<unknown, { readonly _tag: string }, never>(gone))._tag,
              "NotificationRules/Missing"
            )
          }
        }))

      it.effect("a silence is in force from its begin until its end, and no longer than until it is ended", () =>
        Effect.gen(function*() {
          const [silences, created_by] = [yield* Silences, yield* newUser]
          const make = (from: number, to: number) =>
            silences.create({
              id: SilenceId.make(randomUUID()),
              matchers,
              comment: "c",
              starts_at: at(from),
              ends_at: at(to),
              created_by,
              created_at: at(0)
            })
          const [now, later] = [yield* make(0, 10), yield* make(20, 30)]
          const inForce = (second: number) => Effect.map(silences.active(at(second)), (all) => all.map(({ id }) => id))
          assert.deepStrictEqual(yield* inForce(0), [now.id])
          assert.deepStrictEqual(yield* inForce(9), [now.id])
          assert.deepStrictEqual(yield* inForce(10), [])
          assert.deepStrictEqual(yield* inForce(20), [later.id])
          yield* silences.expire(now.id, at(5))
          assert.deepStrictEqual(yield* inForce(5), [])
          assert.deepStrictEqual(yield* inForce(4), [now.id])
          yield* silences.expire(later.id, at(5))
          assert.deepStrictEqual(yield* inForce(20), [])
          yield* silences.expire(now.id, at(7))
          assert.strictEqual(
            DateTime.toEpochMillis((yield* silences.get(now.id)).ends_at),
            DateTime.toEpochMillis(at(5))
          )
          const missing = yield* Effect.exit(silences.get(SilenceId.make(randomUUID())))
          assert.isTrue(Exit.isFailure(missing))
        }))

      it.effect("of changes of the channel at once under one revision one wins, and the newest is in force", () =>
        Effect.gen(function*() {
          const [channel, by] = [yield* LogPipelineChannel, yield* newUser]
          assert.isTrue(Option.isNone(yield* channel.current))
          const apply = (sealedSecrets: string, expected?: ReadonlyArray<number>) =>
            channel.apply({ settings, sealedSecrets, by, at: at(0), ...(expected === undefined ? {} : { expected }) })
          const first = yield* apply("one", [0])
          const error = { at: at(1), kind: "delivery" as const, message: "refused" }
          yield* channel.noteError(error)
          assert.strictEqual((yield* channel.lastError)?.message, "refused")
          const exits = yield* Effect.all(
            ["a", "b", "c", "d"].map((text) => Effect.exit(apply(text, [first.revision]))),
            { concurrency: "unbounded" }
          )
          const won = exits.filter(Exit.isSuccess)
          assert.lengthOf(won, 1)
          const current = Option.getOrThrow(yield* channel.current)
          assert.strictEqual(current.sealedSecrets, won[0]!.value.sealedSecrets)
          assert.deepStrictEqual(current.settings, settings)
          assert.isAbove(current.revision, first.revision)
          assert.isNull(yield* channel.lastError)
        }))
    })
  })
