import { DateTime, Effect, FastCheck as fc, Schema, TestClock } from "effect"
import { Action, ActionId, ActionSpec } from "../../src/schema/Action.ts"
import { RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import type { DetectedMac } from "../../src/schema/Detection.ts"
import { RuleRun, RunId } from "../../src/schema/RuleRun.ts"
import type { UserId } from "../../src/schema/User.ts"
import { Actions } from "../../src/services/Actions.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { type Enforced, RuleLedger } from "../../src/services/RuleLedger.ts"
import { actionSpec } from "../support/arbitraries/rule.ts"
import { encoder, walk } from "./pages.ts"

const encodeRun = encoder(RuleRun)
const encodeAction = encoder(Action)
const draft = Schema.decodeSync(RuleDraft)({ name: "busy", threshold: { min_requests: 1 } })

export const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const clients = 4
const ruleCount = 2

/** Ids and clients of one play, told apart from those of all others by eight hex digits. */
export const names = (salt: string) => {
  const uuid = (kind: number, index: number) => `${salt}-000${kind}-4000-8000-${index.toString(16).padStart(12, "0")}`
  const mac = (index: number) => `02:${`${salt}${index.toString(16).padStart(2, "0")}`.match(/../g)!.join(":")}`
  return {
    rule: (index: number) => RuleId.make(uuid(1, index)),
    run: (index: number) => RunId.make(uuid(2, index)),
    action: (index: number) => ActionId.make(uuid(3, index)),
    mac,
    duid: (index: number) => `0002${salt}${index.toString(16).padStart(4, "0")}`
  }
}
export type Names = ReturnType<typeof names>

/** The detection of a client: under DHCPv4, under DHCPv6, or there by a DUID without a MAC. */
export const detection = (named: Names, index: number, known: "v4" | "v6" | "duid"): DetectedMac => ({
  MAC: known === "duid" ? "" : named.mac(index),
  DUID: known === "v4" ? "" : named.duid(index),
  TotalRequests: 1,
  UniqueIPs: 0,
  Protocol: known === "v4" ? "dhcpv4" : "dhcpv6"
})

export const runOf = (id: RunId, rule: RuleId, at: DateTime.Utc, outcome?: Enforced): RuleRun => ({
  id,
  rule_id: rule,
  trigger: "manual",
  due_at: null,
  mode: "enforce",
  dry_run: false,
  status: outcome === undefined ? "simulated" : "success",
  window_start: DateTime.subtract(at, { hours: 1 }),
  window_end: at,
  macs_detected: outcome?.detections.length ?? 0,
  actions_triggered: outcome?.actionsTriggered ?? 0,
  query: "SELECT {p0:String}",
  query_params: { p0: "it's \\ \"quoted\" \u2028", p10: ["日本", "😀"], p1: 0.5, p2: null, ["__proto__x"]: true },
  execution_time_ms: 1,
  error: "",
  reason: "as asked",
  user_id: null,
  request_id: "r-1",
  started_at: at,
  finished_at: at
})

const rule = fc.nat({ max: ruleCount - 1 })
const step = fc.record({
  minutes: fc.constantFrom(0, 0, 1, 5, 60),
  command: fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("enforce" as const),
        rule,
        found: fc.array(
          fc.tuple(fc.nat({ max: clients - 1 }), fc.constantFrom("v4" as const, "v6" as const, "duid" as const)),
          {
            maxLength: 6
          }
        ),
        specs: fc.array(actionSpec.map((json) => Schema.decodeUnknownSync(ActionSpec)(json)), { maxLength: 3 }),
        cooldown: fc.constantFrom(0, 1, 5, 60),
        seen: fc.constantFrom(0, 0, 5, 60),
        apart: fc.constantFrom(0, 0, 5, 60)
      })
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("record" as const), rule }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), rule }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("runs" as const), rule, limit: fc.integer({ min: 1, max: 3 }) })
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("actions" as const),
        client: fc.nat({ max: clients - 1 }),
        type: fc.constantFrom(undefined, "block" as const, "tag" as const),
        status: fc.constantFrom(undefined, "active" as const, "expired" as const, "removed" as const),
        limit: fc.integer({ min: 1, max: 3 })
      })
    }
  )
})
type Command = typeof step extends fc.Arbitrary<infer S extends { command: unknown }> ? S["command"] : never

export const script = fc.array(step, { minLength: 1, maxLength: 15 })
export type Script = typeof script extends fc.Arbitrary<infer S> ? S : never

const perform = Effect.fnUntraced(function*(named: Names, index: number, command: Command) {
  const ledger = yield* RuleLedger
  const actions = yield* Actions
  const at = yield* DateTime.now
  switch (command.kind) {
    case "enforce": {
      const { apart, cooldown, found, seen, specs } = command
      const outcome: Array<unknown> = []
      const run = yield* ledger.enforce({
        rule: named.rule(command.rule),
        run: named.run(index),
        at,
        detections: found.map(([client, known]) => detection(named, client, known)),
        actions: specs,
        cooldownUntil: DateTime.add(at, { minutes: cooldown }),
        seenAt: DateTime.subtract(at, { minutes: seen }),
        apartMinutes: apart,
        reason: `step ${index}`,
        ids: found.flatMap((_, row) => specs.map((_, column) => named.action(index * 100 + row * 10 + column)))
      }, (enforced) => {
        outcome.push(enforced)
        return runOf(named.run(index), named.rule(command.rule), at, enforced)
      })
      return [outcome, encodeRun(run)]
    }
    case "record":
      return yield* ledger.record(runOf(named.run(index), named.rule(command.rule), at))
    case "remove":
      return yield* (yield* AutomationRules).remove(named.rule(command.rule))
    case "runs":
      return (yield* walk(command.limit, (page) => ledger.runs(named.rule(command.rule), page)))
        .map(({ items, total }) => ({ total, items: items.map(encodeRun) }))
    case "actions": {
      const { client, limit, status, type } = command
      const listed = yield* Effect.forEach(
        [named.mac(client), named.duid(client)],
        (client) => walk(limit, (page) => actions.list({ ...page, client, status, type }))
      )
      for (const action of listed.flat().flatMap(({ items }) => items)) {
        const got = yield* actions.get(action.id)
        if (JSON.stringify(encodeAction(got)) !== JSON.stringify(encodeAction(action))) return ["get differs", got]
      }
      return listed.flat().map(({ items, total }) => ({ total, items: items.map(encodeAction) }))
    }
  }
})

/** Plays a script and gives all that could be seen of it: each step's answer or refusal, and the cooldowns after it. */
export const play = Effect.fnUntraced(function*(script: Script, salt: string, by: UserId) {
  const rules = yield* AutomationRules
  const ledger = yield* RuleLedger
  const named = names(salt)
  yield* TestClock.setTime(DateTime.toEpochMillis(start))
  for (let index = 0; index < ruleCount; index++) {
    yield* rules.create({ id: named.rule(index), draft, by, at: start })
  }
  return yield* Effect.forEach(script, ({ command, minutes }, index) =>
    Effect.gen(function*() {
      yield* TestClock.adjust(`${minutes} minutes`)
      const seen = yield* Effect.match(perform(named, index, command), {
        onFailure: ({ _tag }): unknown => _tag,
        onSuccess: (answer): unknown => answer
      })
      const now = yield* DateTime.now
      const cooling = yield* Effect.forEach([named.rule(0), named.rule(1)], (rule) => ledger.inCooldown(rule, now))
      return { command: command.kind, seen, cooling }
    }))
})
