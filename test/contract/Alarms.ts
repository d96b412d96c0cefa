import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Redacted, Schema } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { Alarm, type AlarmTransition } from "../../src/schema/Alarm.ts"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { Username } from "../../src/schema/User.ts"
import { Alarms } from "../../src/services/Alarms.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { Users } from "../../src/services/Users.ts"
import { AlarmsMemory } from "../layers/AlarmsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { detection, type Names, names, start } from "./ledgerScript.ts"
import { walk } from "./pages.ts"

const twin = Layer.mergeAll(AlarmsMemory, AutomationRulesMemory, UsersMemory)

const after = (minutes: number) => DateTime.add(start, { minutes })
const draft = Schema.decodeSync(RuleDraft)({ name: "busy", threshold: { min_requests: 1 } })
const encodeAlarm = Schema.encodeSync(Alarm)

const rule = fc.nat(1)
const client = fc.nat(2)
const of = <K extends string, A>(kind: K, rest: { [P in keyof A]: fc.Arbitrary<A[P]> }) =>
  fc.record({ kind: fc.constant(kind), ...rest }) as unknown as fc.Arbitrary<{ readonly kind: K } & A>
const comment = fc.constantFrom(undefined, "it's \\ \"fine\" 😀")
const command = fc.oneof(
  {
    weight: 6,
    arbitrary: of("observe", {
      rule,
      clients: fc.uniqueArray(client, { maxLength: 3 }),
      late: fc.constantFrom(0, 0, 0, 3)
    })
  },
  of("acknowledge", { nth: fc.nat(4), comment }),
  of("resolve", { nth: fc.nat(4), comment }),
  of("orphans", {}),
  of("remove", { rule }),
  of("tell", { fails: fc.boolean() })
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

/** What a test compares of alarms and transitions: ids are made by chance. */
const shown = (salt: string, alarm: Alarm) => {
  const { acknowledged_by, id: _, resolved_by, ...rest } = encodeAlarm(alarm)
  const by = [acknowledged_by !== null, resolved_by !== null]
  return JSON.stringify({ ...rest, rule_id: rest.rule_id?.replace(salt, ""), by })
}
const told = ({ at, by, client, from_status, request_id, severity, to_status }: AlarmTransition) =>
  [DateTime.formatIso(at), client, from_status, to_status, by !== "", request_id, severity].join(" ")

const newUser = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return (yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
})

const everyAlarm = Effect.fnUntraced(function*(named: Names) {
  const alarms = yield* Alarms
  const listed = yield* Effect.forEach(
    [0, 1],
    (index) => walk(2, (page) => alarms.list({ ...page, rule_id: named.rule(index) }))
  )
  return listed.flat().flatMap(({ items }) => items).sort((a, b) => {
    const order = DateTime.distance(b.opened_at, a.opened_at)
    return order || (a.client + a.rule_id < b.client + b.rule_id ? -1 : 1)
  })
})

/** Plays a script, a minute a step, and gives what could be seen of it. */
const play = Effect.fnUntraced(function*(script: ReadonlyArray<Command>, salt: string) {
  const alarms = yield* Alarms
  const rules = yield* AutomationRules
  const named = names(salt)
  const by = yield* newUser
  for (const index of [0, 1]) yield* rules.create({ id: named.rule(index), draft, by, at: start })
  const perform = Effect.fnUntraced(function*(command: Command, minute: number) {
    const move = { by, at: after(minute), requestId: "r-1" }
    const nth = (index: number) => Effect.flatMap(everyAlarm(named), (all) => Effect.fromNullable(all[index]))
    switch (command.kind) {
      case "observe": {
        const matched = command.clients.map((index) => detection(named, index, index === 2 ? "duid" : "v4"))
        const observed = {
          id: named.rule(command.rule),
          name: "busy",
          severity: "critical" as const,
          cooldown_minutes: 4
        }
        return yield* alarms.observe({ rule: observed, at: after(minute - command.late), matched, requestId: "r-0" })
      }
      case "acknowledge":
      case "resolve": {
        const { id } = yield* nth(command.nth)
        return shown(salt, yield* alarms[command.kind](id, { ...move, comment: command.comment }))
      }
      case "orphans":
        return yield* alarms.resolveOrphans(after(minute))
      case "remove":
        return yield* rules.remove(named.rule(command.rule))
      case "tell":
        return undefined
    }
  })
  const transitions: Array<string> = []
  const seen = yield* Effect.forEach(script, (command, minute) =>
    Effect.gen(function*() {
      const answer = yield* Effect.match(perform(command, minute), {
        onFailure: ({ _tag }): unknown => _tag,
        onSuccess: (answer): unknown => answer
      })
      if (command.kind === "tell") {
        yield* Effect.ignore(alarms.tell((_, all) =>
          command.fails ? Effect.fail("down") : Effect.sync(() => void transitions.push(...all.map(told)))
        ))
      }
      return {
        command: command.kind,
        answer,
        alarms: (yield* everyAlarm(named)).map((alarm) =>
          shown(salt, alarm)
        )
      }
    }))
  yield* alarms.tell((_, all) => Effect.sync(() => void transitions.push(...all.map(told))))
  // A batch that was not told holds back what came after it.
  yield* alarms.tell((_, all) => Effect.sync(() => void transitions.push(...all.map(told))))
  return {
    seen,
    transitions: transitions.filter((line) => line.includes(named.mac(0).slice(0, -3)) || line.includes(salt)).sort()
  }
})

/** What every implementation of `Alarms` keeps; nobody else may use its database meanwhile. */
export const alarmsContract = (name: string, layer: Layer.Layer<Alarms | AutomationRules | Users>, numRuns: number) =>
  describe(`Alarms contract: ${name}`, () => {
    const newSalt = Effect.sync(() => randomBytes(4).toString("hex"))

    it.layer(layer)((it) => {
      it.effect.prop(
        "whatever is done in turn, it answers as its twin in memory, and tells each transition once",
        [fc.array(command, { minLength: 1, maxLength: 20 })],
        ([script]) =>
          Effect.gen(function*() {
            const salt = yield* newSalt
            const expected = yield* Effect.provide(play(script, salt), Layer.fresh(twin))
            assert.deepStrictEqual(yield* play(script, salt), expected)
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("runs at once open one alarm for each client", () =>
        Effect.gen(function*() {
          const [alarms, rules, named] = [yield* Alarms, yield* AutomationRules, names(yield* newSalt)]
          const observed = { ...draft, id: named.rule(0), severity: "info" as const }
          yield* rules.create({ id: observed.id, draft, by: yield* newUser, at: start })
          const matched = [0, 1, 2, 3].map((index) => detection(named, index, "v4"))
          yield* Effect.forEach(
            Array.from({ length: 20 }, (_, minute) => minute),
            (minute) => alarms.observe({ rule: observed, at: after(minute), matched, requestId: "r" }),
            { concurrency: "unbounded" }
          )
          const all = yield* everyAlarm(named)
          assert.deepStrictEqual(all.map(({ client }) => client).sort(), [0, 1, 2, 3].map(named.mac))
          for (const { last_seen_at } of all) {
            assert.strictEqual(DateTime.toEpochMillis(last_seen_at), DateTime.toEpochMillis(after(19)))
          }
        }))

      it.effect("a filter lists the alarms that it describes", () =>
        Effect.gen(function*() {
          const [alarms, rules, named, by] = [
            yield* Alarms,
            yield* AutomationRules,
            names(yield* newSalt),
            yield* newUser
          ]
          const observed = { ...draft, id: named.rule(0) }
          yield* rules.create({ id: observed.id, draft, by, at: start })
          const see = (minute: number, ...clients: ReadonlyArray<number>) =>
            alarms.observe({
              rule: observed,
              at: after(minute),
              matched: clients.map((index) => detection(named, index, "v4")),
              requestId: "r"
            })
          yield* see(0, 0, 1)
          yield* see(10, 1, 2)
          const ask = (query: object) =>
            Effect.map(
              alarms.list({ limit: 10, rule_id: observed.id, ...query }),
              ({ items }) =>
                items.map(({ client }) => [0, 1, 2].findIndex((index) => named.mac(index) === client)).sort()
            )
          assert.deepStrictEqual(yield* ask({}), [0, 1, 2])
          assert.deepStrictEqual(yield* ask({ status: "resolved" }), [0])
          assert.deepStrictEqual(yield* ask({ status: "firing" }), [1, 2])
          assert.deepStrictEqual(yield* ask({ client: named.mac(1) }), [1])
          assert.deepStrictEqual(yield* ask({ severity: "warning" }), [0, 1, 2])
          assert.deepStrictEqual(yield* ask({ severity: "info" }), [])
          assert.deepStrictEqual(yield* ask({ start: after(11) }), [1, 2])
          assert.deepStrictEqual(yield* ask({ start: after(10) }), [0, 1, 2])
          assert.deepStrictEqual(yield* ask({ end: after(9) }), [0, 1])
        }))

      it.effect("a condition of the service has one alarm at a time, which no missing rule resolves", () =>
        Effect.gen(function*() {
          const [alarms, subject, by] = [yield* Alarms, yield* newSalt, yield* newUser]
          const note = (state: "amiss" | "between" | "fine", minute: number) =>
            Effect.map(
              alarms.note({
                kind: "disk",
                subject,
                name: "disk",
                severity: "warning",
                state,
                comment: "full",
                at: after(minute)
              }),
              (change) => change === undefined ? "" : `${change.from_status} ${change.to_status}`
            )
          assert.strictEqual(yield* note("between", 0), "")
          assert.strictEqual(yield* note("amiss", 1), " firing")
          assert.strictEqual(yield* note("between", 2), "")
          yield* alarms.resolveOrphans(after(3))
          const { items: [open] } = yield* alarms.list({ limit: 10, client: subject })
          yield* alarms.acknowledge(open!.id, { by, at: after(4), requestId: "r", comment: undefined })
          assert.strictEqual(yield* note("amiss", 5), "")
          assert.strictEqual(yield* note("fine", 6), "acknowledged resolved")
          assert.strictEqual(yield* note("fine", 7), "")
          assert.strictEqual(yield* note("amiss", 8), " firing")
          const { items } = yield* alarms.list({ limit: 10, client: subject, kind: "disk" })
          assert.deepStrictEqual((yield* alarms.list({ limit: 10, client: subject, kind: "detection" })).items, [])
          assert.deepStrictEqual(items.map(({ count, present, status }) => [status, present, count]), [
            ["firing", true, 1],
            ["resolved", false, 3]
          ])
          yield* alarms.resolve(items[0]!.id, { by, at: after(9), requestId: "r", comment: undefined })
        }))
    })
  })
