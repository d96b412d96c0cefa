import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Redacted, Schema } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { DueWindow } from "../../src/schema/DueWindow.ts"
import { UserId, Username } from "../../src/schema/User.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { DueWindows } from "../../src/services/DueWindows.ts"
import { RuleLedger } from "../../src/services/RuleLedger.ts"
import { Users } from "../../src/services/Users.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { DueWindowsMemory } from "../layers/DueWindowsMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { type Names, names, runOf, start } from "./ledgerScript.ts"
import { encoder, walk } from "./pages.ts"

const twin = Layer.mergeAll(DueWindowsMemory, RuleLedgerMemory, AutomationRulesMemory)

const after = (minutes: number) => DateTime.add(start, { minutes })
const draft = (schedule: unknown, enabled: boolean) =>
  Schema.decodeUnknownSync(RuleDraft)({ name: "due", enabled, schedule, threshold: { min_requests: 1 } })
const encodeWindow = encoder(DueWindow)

const minutes = fc.integer({ min: 0, max: 20 })
const of = <K extends string, A>(kind: K, rest: { [P in keyof A]: fc.Arbitrary<A[P]> }) =>
  fc.record({ kind: fc.constant(kind), ...rest }) as unknown as fc.Arbitrary<{ readonly kind: K } & A>
const rule = fc.nat(1)
const run = fc.nat(5)
const claim = { owner: fc.constantFrom("a", "b"), lease: minutes }
const command = fc.oneof(
  of("change", {
    rule,
    enabled: fc.boolean(),
    schedule: fc.constantFrom({ type: "manual" }, { type: "interval", every: "1m" }, {
      type: "cron",
      cron: "* * * * *"
    })
  }),
  of("claim", { span: fc.nat(3), due: minutes, ...claim }),
  of("claim", { span: fc.nat(1), due: minutes, ...claim }),
  of("pass", {
    span: fc.nat(3),
    verdict: fc.constantFrom("missed" as const, "skipped" as const),
    dues: fc.uniqueArray(minutes, { maxLength: 4 }),
    range: fc.boolean(),
    settled: minutes
  }),
  of("record", { rule, run }),
  of("release", { run, verdict: fc.constantFrom("failed" as const, "missed" as const) }),
  of("renew", { owner: fc.constantFrom("a", "b"), lease: minutes }),
  of("abandon", { at: minutes }),
  of("missed", { rule, after: minutes, through: minutes, limit: fc.nat(3) }),
  of("reclaim", { rule, due: minutes, ...claim }),
  of("list", { rule, limit: fc.integer({ min: 1, max: 3 }), verdict: fc.constantFrom(undefined, "missed" as const) }),
  of("remove", { rule })
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

const perform = Effect.fnUntraced(
  function*(named: Names, by: UserId, command: Command, minute: number, recorded: Set<string>) {
    const windows = yield* DueWindows
    const rules = yield* AutomationRules
    /** Each claim has a run of its own; what follows speaks of an earlier one. */
    const earlier = (steps: number) => named.run(Math.max(0, minute - 1 - steps))
    const claimOf = (claim: { readonly owner: string; readonly lease: number }) => ({
      run: named.run(minute),
      owner: `${named.mac(0)} ${claim.owner}`,
      leaseUntil: after(claim.lease)
    })
    const own = Effect.map(
      windows.spans,
      (spans) => spans.filter((span) => span.rule === named.rule(0) || span.rule === named.rule(1))
    )
    switch (command.kind) {
      case "change":
        return yield* rules.update(named.rule(command.rule), {
          draft: draft(command.schedule, command.enabled),
          by,
          at: after(minute)
        }).pipe(Effect.map(({ revision }) => revision))
      case "claim": {
        const span = (yield* own)[command.span]
        return span && (yield* windows.claim(span, after(command.due), claimOf(command)))
      }
      case "pass": {
        const span = (yield* own)[command.span]
        const passed = command.dues.map((due) => ({
          due_at: after(due),
          through: command.range ? after(due + 3) : null
        }))
        const { settled, verdict } = command
        return span && (yield* windows.pass(span, { verdict, reason: "so", windows: passed, settled: after(settled) }))
      }
      case "record": {
        const id = earlier(command.run)
        if (recorded.has(id)) return undefined
        const entry = { ...runOf(id, named.rule(command.rule), after(minute)), due_at: after(minute) }
        return yield* Effect.tap((yield* RuleLedger).record(entry), () => recorded.add(id))
      }
      case "release":
        return yield* windows.release(earlier(command.run), command.verdict, "because")
      case "renew":
        return yield* windows.renew(`${named.mac(0)} ${command.owner}`, after(command.lease))
      case "abandon":
        // Others on the same database have windows too.
        return yield* Effect.asVoid(windows.abandon(after(command.at)))
      case "missed":
        return yield* windows.missed(named.rule(command.rule), {
          after: after(command.after),
          through: after(command.through),
          limit: command.limit
        }).pipe(Effect.map(({ due, total }) => ({ due: due.map(DateTime.formatIso), total })))
      case "reclaim":
        return yield* windows.reclaim(named.rule(command.rule), after(command.due), claimOf(command))
      case "list":
        return (yield* walk(
          command.limit,
          (page) => windows.list(named.rule(command.rule), { ...page, verdict: command.verdict })
        )).map(({ items, total }) => ({
          total,
          items: items.map(encodeWindow)
        }))
      case "remove":
        return yield* rules.remove(named.rule(command.rule))
    }
  }
)

/** Plays a script, a minute a step, and gives what could be seen of it. */
const play = Effect.fnUntraced(function*(script: ReadonlyArray<Command>, salt: string, by: UserId) {
  const windows = yield* DueWindows
  const rules = yield* AutomationRules
  const named = names(salt)
  const recorded = new Set<string>()
  for (const index of [0, 1]) {
    const first = draft({ type: "interval", every: "1m" }, index === 0)
    yield* rules.create({ id: named.rule(index), draft: first, by, at: start })
  }
  return yield* Effect.forEach(script, (command, minute) =>
    Effect.gen(function*() {
      const seen = yield* Effect.match(perform(named, by, command, minute, recorded), {
        onFailure: ({ _tag }): unknown => _tag,
        onSuccess: (answer): unknown => answer
      })
      const spans = (yield* windows.spans).flatMap(({ rule, schedule, settled, since, until }) =>
        rule !== named.rule(0) && rule !== named.rule(1)
          ? []
          : [{ rule, schedule, times: [since, until, settled].map((time) => time && DateTime.formatIso(time)) }]
      )
      const running = (yield* windows.running).filter(({ rule_id }) => rule_id.startsWith(salt))
        .map(({ due_at, rule_id }) => `${rule_id} ${DateTime.formatIso(due_at)}`).sort()
      return { command: command.kind, seen, spans, running }
    }))
})

/** What every implementation of `DueWindows`, with its rules and their ledger, keeps. */
export const dueWindowsContract = (
  name: string,
  layer: Layer.Layer<DueWindows | RuleLedger | AutomationRules | Users>,
  numRuns: number
) =>
  describe(`DueWindows contract: ${name}`, () => {
    const newSalt = Effect.sync(() => randomBytes(4).toString("hex"))
    const newUser = Effect.gen(function*() {
      const username = Username.make(randomUUID())
      return (yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
    })

    it.layer(layer)((it) => {
      it.effect.prop(
        "whatever is done in turn, it answers as its twin in memory",
        [fc.array(command, { minLength: 1, maxLength: 20 })],
        ([script]) =>
          Effect.gen(function*() {
            const salt = yield* newSalt
            const seen = yield* play(script, salt, yield* newUser)
            assert.deepStrictEqual(seen, yield* Effect.provide(play(script, salt, UserId.make(1)), Layer.fresh(twin)))
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("of many that claim a window at once one gets it, and none once its rule was disabled", () =>
        Effect.gen(function*() {
          const [windows, rules, named, by] = [
            yield* DueWindows,
            yield* AutomationRules,
            names(yield* newSalt),
            yield* newUser
          ]
          const id = named.rule(0)
          yield* rules.create({ id, draft: draft({ type: "interval", every: "1m" }, true), by, at: start })
          const span = (yield* windows.spans).find((span) => span.rule === id)!
          const claimAll = (minute: number) =>
            Effect.forEach(
              Array.from({ length: 20 }, (_, index) => named.run(index + 20 * minute)),
              (run) => windows.claim(span, after(minute), { run, owner: "a", leaseUntil: after(60) }),
              { concurrency: "unbounded" }
            ).pipe(Effect.map((won) => won.filter((one) => one).length))
          assert.strictEqual(yield* claimAll(1), 1)
          yield* rules.update(id, { draft: draft({ type: "interval", every: "1m" }, false), by, at: after(2) })
          assert.strictEqual(yield* claimAll(2), 0)
        }))

      it.effect("forgets windows that nobody asks for any more, and keeps the latest sign of life", () =>
        Effect.gen(function*() {
          const [windows, rules, named, by] = [
            yield* DueWindows,
            yield* AutomationRules,
            names(yield* newSalt),
            yield* newUser
          ]
          const id = named.rule(0)
          yield* rules.create({ id, draft: draft({ type: "interval", every: "1m" }, true), by, at: start })
          const span = (yield* windows.spans).find((span) => span.rule === id)!
          const days = (count: number) => DateTime.add(start, { days: count })
          yield* windows.pass(span, {
            verdict: "missed",
            reason: "",
            windows: [0, 1, 2].map((day) => ({ due_at: days(day), through: null })),
            settled: days(2)
          })
          yield* windows.forget(days(91))
          const left = yield* windows.list(id, { limit: 10 })
          assert.deepStrictEqual(
            left.items.map(({ due_at }) => DateTime.formatIso(due_at)),
            [2, 1].map((day) => DateTime.formatIso(days(day)))
          )
          for (const lagMillis of [7, 8]) yield* windows.beat({ node: "n", at: start, lagMillis })
          const beat = yield* windows.latestBeat
          assert.deepStrictEqual(beat && { ...beat, at: DateTime.formatIso(beat.at) }, {
            node: "n",
            at: DateTime.formatIso(start),
            lagMillis: 8
          })
        }))
    })
  })
