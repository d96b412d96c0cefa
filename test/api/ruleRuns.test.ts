import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Logger, Ref, Schema, TestClock } from "effect"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { clientOfDetection, type DetectedMac, keyDetections } from "../../src/schema/Detection.ts"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import { type DetectionFailed, Detections } from "../../src/services/Detections.ts"
import { DetectionFailed as Failed } from "../../src/services/Detections.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { AutomationState } from "../layers/AutomationState.ts"
import { EventMemory } from "../layers/DhcpEventsMemory.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { ruleDraft } from "../support/arbitraries/rule.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { beginning, Callers, TestApi, testApi } from "../support/testApi.ts"

const decodeDraft = Schema.decodeUnknownSync(RuleDraft)
const draft = (fields: object) =>
  decodeDraft({ name: "busy", threshold: { min_requests: 2 }, mode: "enforce", actions: ["block"], ...fields })

const mac = (n: number) => `02:bd:00:00:00:${n.toString(16).padStart(2, "0")}`

/** A message of a client, minutes before the beginning. */
const message = (n: number, minutesAgo = 1, fields: object = {}) => ({
  event_time: DateTime.formatIso(DateTime.subtract(beginning, { minutes: minutesAgo })),
  protocol: "dhcpv4",
  message_type: "discover",
  client_mac: mac(n),
  ...fields
})

const observe = (...messages: ReadonlyArray<object>) =>
  Effect.gen(function*() {
    const { token } = yield* Callers
    const answer = yield* call("POST", "/api/dhcp/events", {
      token: token.operator,
      headers: { "content-type": "application/x-ndjson" },
      body: messages.map((each) => JSON.stringify(each)).join("\n")
    })
    assert.deepStrictEqual(answer.json, { accepted: messages.length, rejected: 0, errors: [] })
  })

const twice = (...clients: ReadonlyArray<number>) => observe(...clients.flatMap((n) => [message(n), message(n, 2)]))

const rulesApi = Effect.map(Callers, ({ client }) => client.operator.automation)
const create = (fields: object) => Effect.flatMap(rulesApi, (api) => api.createRule({ payload: draft(fields) }))
const run = (
  id: string,
  payload: { readonly dry_run?: boolean; readonly start?: string; readonly end?: string } = {}
) => Effect.flatMap(rulesApi, (api) => api.runRule({ path: { id }, payload: { dry_run: false, ...payload } }))
const activeActions = Effect.flatMap(
  Callers,
  ({ client }) =>
    Effect.map(client.viewer.actions.list({ urlParams: { limit: 1000, status: "active" } }), ({ items }) => items)
)
const runsOf = (id: string) =>
  Effect.flatMap(
    rulesApi,
    (api) => Effect.map(api.listRuns({ path: { id }, urlParams: { limit: 1000 } }), ({ items }) => items)
  )

const expectedActions = (rule: RuleDraft, taken: ReadonlyArray<DetectedMac>) =>
  new Set(
    taken.flatMap((row) =>
      rule.actions.filter(({ type }) => row.MAC !== "" || type === "tag").map(({ tag, type }) =>
        `${clientOfDetection(row)} ${type} ${tag ?? ""}`
      )
    )
  ).size

/** Rules that detect something in a few dozen events, more often than those of users. */
const keen = ruleDraft.map((rule): RuleDraft => ({
  ...rule,
  mode: "enforce",
  lookback_minutes: 10_080,
  threshold: {
    operator: rule.threshold.operator,
    ...(rule.threshold.min_requests === undefined ? {} : { min_requests: rule.threshold.min_requests % 3 + 1 }),
    ...(rule.threshold.min_unique_ips === undefined ? {} : { min_unique_ips: rule.threshold.min_unique_ips % 2 + 1 })
  },
  max_detections: rule.max_detections % 7 === 0 ? 2 : rule.max_detections
}))

/** The event within the hours before the beginning. */
const timely = (event: DhcpEvent): DhcpEvent => ({
  ...event,
  event_time: `2096-02-01${event.event_time.slice(10)}`
})

layer(TestApi)("a rule", (it) => {
  let met = { clients: 0, over: 0, actions: 0 }

  it.effect.prop("detects the same in a preview, a dry run and an enforcing run", {
    rule: fc.oneof(
      { weight: 1, arbitrary: keen },
      { weight: 3, arbitrary: keen.map(({ exclude: _, filter: __, message_types: ___, ...rule }): RuleDraft => rule) }
    ),
    events: fc.array(dhcpEvent, { minLength: 10, maxLength: 60 }).map((events) => events.map(timely))
  }, ({ events, rule }) =>
    Effect.gen(function*() {
      const api = yield* rulesApi
      const state = yield* AutomationState
      state.actions.clear()
      yield* Ref.set(yield* EventMemory, { rows: [], tokens: new Set<string>() })
      yield* (yield* DhcpEvents).append({ number: 1, events })

      const saved = yield* api.createRule({ payload: rule })
      const { data: previewed } = yield* api.testPreview({ payload: rule })
      const { data: dry } = yield* run(saved.id, { dry_run: true })
      assert.strictEqual(dry.ActionsTriggered, 0)
      assert.strictEqual(state.actions.size, 0)
      const { data: enforced } = yield* run(saved.id)
      assert.deepStrictEqual(dry.DetectedMacs, keyDetections(previewed.DetectedMacs))
      assert.deepStrictEqual(enforced.DetectedMacs, dry.DetectedMacs)
      assert.strictEqual(dry.MacsDetected, previewed.TotalCount)
      assert.strictEqual(enforced.MacsDetected, previewed.TotalCount)

      const over = previewed.TotalCount > rule.max_detections
      met = {
        clients: met.clients + previewed.TotalCount,
        over: met.over + (over ? 1 : 0),
        actions: met.actions + enforced.ActionsTriggered
      }
      assert.strictEqual(dry.Status, over ? "warning" : "simulated")
      assert.strictEqual(enforced.Status, over ? "warning" : "success")
      assert.strictEqual(enforced.ActionsTriggered, over ? 0 : expectedActions(rule, previewed.DetectedMacs))
      assert.strictEqual(state.actions.size, enforced.ActionsTriggered)

      const cooled = rule.cooldown_minutes > 0 && !over && previewed.TotalCount > 0
      const { data: again } = yield* run(saved.id)
      const { data: after } = yield* api.testPreview({ payload: { ...rule, rule_id: saved.id } })
      assert.strictEqual(again.Status, cooled ? "skipped" : enforced.Status)
      assert.strictEqual(after.TotalCount, cooled ? 0 : previewed.TotalCount)
    }), { fastCheck: { numRuns: 35 }, timeout: 60_000 })

  it("detects something in those", () => {
    assert.isAbove(met.clients, 50)
    assert.isAbove(met.over, 0)
    assert.isAbove(met.actions, 10)
  })
})

describe("a run", () => {
  it.effect("leaves clients alone for the cooldown, and then not any more", () =>
    Effect.gen(function*() {
      const rule = yield* create({
        cooldown_minutes: 10,
        lookback_minutes: 60,
        actions: [{ type: "block", duration_minutes: 5 }]
      })
      yield* twice(1)
      assert.strictEqual((yield* run(rule.id)).data.Status, "success")
      yield* twice(2)
      const second = (yield* run(rule.id)).data
      assert.deepStrictEqual(Object.keys(second.DetectedMacs), [mac(2)])
      const skipped = (yield* run(rule.id)).data
      assert.deepInclude(skipped, {
        Status: "skipped",
        MacsDetected: 0,
        ActionsTriggered: 0,
        DetectedMacs: {},
        ErrorMessage: ""
      })
      assert.strictEqual((yield* run(rule.id, { dry_run: true })).data.Status, "skipped")
      yield* TestClock.adjust("10 minutes")
      const third = (yield* run(rule.id)).data
      assert.deepStrictEqual(Object.keys(third.DetectedMacs).sort(), [mac(1), mac(2)])
      assert.strictEqual(third.ActionsTriggered, 2)
    }).pipe(Effect.provide(TestApi)))

  it.effect("that detects nobody succeeds, and is not skipped", () =>
    Effect.gen(function*() {
      const rule = yield* create({})
      assert.strictEqual((yield* run(rule.id)).data.Status, "success")
      yield* twice(1)
      yield* run(rule.id)
      const other = yield* create({ filter: { rules: [{ field: "hostname", op: "eq", value: "x" }] } })
      assert.strictEqual((yield* run(other.id)).data.Status, "success")
    }).pipe(Effect.provide(TestApi)))

  it.effect("over max_detections acts on none", () =>
    Effect.gen(function*() {
      const rule = yield* create({ max_detections: 2 })
      yield* twice(1, 2, 3)
      const { data } = yield* run(rule.id)
      assert.deepInclude(data, { Status: "warning", MacsDetected: 3, ActionsTriggered: 0 })
      assert.strictEqual(Object.keys(data.DetectedMacs).length, 2)
      assert.match(data.ErrorMessage, /max_detections 2/)
      assert.deepStrictEqual(yield* activeActions, [])
      const [recorded] = yield* runsOf(rule.id)
      assert.deepInclude(recorded, { status: "warning", macs_detected: 3, actions_triggered: 0 })
      yield* (yield* rulesApi).updateRule({ path: { id: rule.id }, payload: draft({ max_detections: 3 }) })
      assert.strictEqual((yield* run(rule.id)).data.ActionsTriggered, 3)
    }).pipe(Effect.provide(TestApi)))

  it.effect("of a simulating rule acts on none and starts no cooldown", () =>
    Effect.gen(function*() {
      const rule = yield* create({ mode: "simulate" })
      yield* twice(1)
      for (let i = 0; i < 2; i++) {
        assert.deepInclude((yield* run(rule.id)).data, { Status: "simulated", MacsDetected: 1, ActionsTriggered: 0 })
      }
      assert.deepStrictEqual(yield* activeActions, [])
    }).pipe(Effect.provide(TestApi)))

  it.effect("by hand needs no rule that is enabled, and is recorded with who asked and why", () =>
    Effect.gen(function*() {
      const { client, token } = yield* Callers
      const rule = yield* create({ enabled: false, schedule: { type: "interval", every: "5m" } })
      yield* twice(1)
      const answer = yield* call("POST", `/api/automation/rules/${rule.id}/run`, {
        token: token.operator,
        headers: { "x-request-id": "my.request-1" },
        body: JSON.stringify({ reason: "drill", whatever: { they: "send" } })
      })
      assert.strictEqual(answer.status, 200)
      assert.hasAllKeys(answer.json, ["data", "status"])
      assert.strictEqual(answer.json.status, "success")
      assert.hasAllKeys(answer.json.data, [
        "RuleID",
        "RuleName",
        "MacsDetected",
        "ActionsTriggered",
        "DetectedMacs",
        "ExecutionTimeMs",
        "Status",
        "ErrorMessage"
      ])
      assert.deepStrictEqual(answer.json.data.DetectedMacs, {
        [mac(1)]: { MAC: mac(1), DUID: "", TotalRequests: 2, UniqueIPs: 0, Protocol: "dhcpv4" }
      })
      const [recorded] = yield* runsOf(rule.id)
      const operator = yield* client.operator.account.me()
      assert.deepInclude(recorded, {
        trigger: "manual",
        status: "success",
        reason: "drill",
        request_id: "my.request-1",
        user_id: operator.id,
        error: ""
      })
      assert.deepStrictEqual([recorded!.window_start, recorded!.window_end], [
        DateTime.subtract(beginning, { hours: 1 }),
        beginning
      ])
      const [action] = yield* activeActions
      assert.deepInclude(action, { type: "block", client: mac(1), client_mac: mac(1), reason: "drill" })
      assert.deepStrictEqual(action!.origin, { kind: "rule_run", id: recorded!.id })
      const refused = yield* callJson("POST", "/api/automation/rules/test-preview", {
        name: "x",
        threshold: { min_requests: 1 },
        whatever: 1
      }, token.operator)
      assertProblem(refused, 400, "invalid-request")
    }).pipe(Effect.provide(TestApi)))

  it.effect("looks at the range that it is asked for", () =>
    Effect.gen(function*() {
      const rule = yield* create({ mode: "simulate", threshold: { min_requests: 1 } })
      yield* observe(message(1, 10), message(2, 20), message(3, 30))
      const ago = (minutes: number) => DateTime.formatIso(DateTime.subtract(beginning, { minutes }))
      const seen = (range: { start?: string; end?: string }) =>
        Effect.map(run(rule.id, range), ({ data }) => Object.keys(data.DetectedMacs).sort())
      assert.deepStrictEqual(yield* seen({ start: ago(20) }), [mac(1)])
      assert.deepStrictEqual(yield* seen({ start: ago(30), end: ago(20) }), [mac(2)])
      assert.deepStrictEqual(yield* seen({ end: ago(20) }), [mac(2), mac(3)])
      const { token } = yield* Callers
      const week = DateTime.formatIso(DateTime.subtract(beginning, { days: 7, minutes: 1 }))
      for (
        const range of [{ start: ago(1), end: ago(2) }, { start: ago(1), end: ago(1) }, { start: week }, {
          start: ago(-5)
        }]
      ) {
        const answer = yield* callJson("POST", `/api/automation/rules/${rule.id}/run`, range, token.operator)
        assert.strictEqual(assertProblem(answer, 400, "invalid-request").errors[0].pointer, "/start")
      }
      const wrong = yield* callJson("POST", `/api/automation/rules/${rule.id}/run`, {
        start: "now",
        end: 5,
        dry_run: "yes"
      }, token.operator)
      assert.sameMembers(
        assertProblem(wrong, 400, "invalid-request").errors.map((error: { pointer: string }) => error.pointer),
        ["/start", "/end", "/dry_run"]
      )
      assert.strictEqual((yield* runsOf(rule.id)).length, 3)
    }).pipe(Effect.provide(TestApi)))
})

describe("a run whose evaluation fails", () => {
  const failing = (error: DetectionFailed) =>
    testApi(
      Layer.succeed(
        Detections,
        Detections.of({ detect: () => Effect.fail(error), detectOnly: () => Effect.fail(error) })
      )
    ).pipe(Layer.provideMerge(Logger.replace(Logger.defaultLogger, Logger.none)))

  it.effect("is an answer where the query was refused", () =>
    Effect.gen(function*() {
      const rule = yield* create({})
      const { data, status } = yield* run(rule.id)
      assert.strictEqual(status, "success")
      assert.deepInclude(data, { Status: "failed", ErrorMessage: "too much memory", MacsDetected: 0, DetectedMacs: {} })
      assert.deepInclude((yield* runsOf(rule.id))[0], { status: "failed", error: "too much memory" })
    }).pipe(Effect.provide(failing(new Failed({ reason: "failed", message: "too much memory" })))))

  it.effect("is an outage where the store can't be reached, and recorded", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const rule = yield* create({})
      const answer = yield* call("POST", `/api/automation/rules/${rule.id}/run`, { token: token.operator })
      assertProblem(answer, 503, "unavailable")
      assert.isDefined(answer.headers["retry-after"])
      assert.deepInclude((yield* runsOf(rule.id))[0], { status: "failed", error: "no answer" })
      const preview = yield* callJson("POST", "/api/automation/rules/test-preview", {
        name: "x",
        threshold: { min_requests: 1 }
      }, token.viewer)
      assertProblem(preview, 503, "unavailable")
    }).pipe(Effect.provide(failing(new Failed({ reason: "unreachable", message: "no answer" })))))
})
