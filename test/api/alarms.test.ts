import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Redacted, Schema, TestClock } from "effect"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { AutomationState } from "../layers/AutomationState.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { beginning, Callers, TestApi } from "../support/testApi.ts"

const path = "/api/automation/alarms"
const mac = (n: number) => `02:bd:00:00:00:${n.toString(16).padStart(2, "0")}`
const missingIds = ["7d4c1a0e-0000-4000-8000-000000000000", "x", "__proto__", "%00"]

const draft = (fields: object) =>
  Schema.decodeUnknownSync(RuleDraft)({
    name: "busy",
    threshold: { min_requests: 2 },
    lookback_minutes: 1,
    cooldown_minutes: 2,
    ...fields
  })

/** Two requests of each of these clients, right now. */
const observe = (...clients: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const { token } = yield* Callers
    const event_time = DateTime.formatIso(yield* DateTime.now)
    const event = (n: number) => ({ event_time, protocol: "dhcpv4", message_type: "discover", client_mac: mac(n) })
    const answer = yield* call("POST", "/api/dhcp/events", {
      token: token.operator,
      headers: { "content-type": "application/x-ndjson" },
      body: clients.flatMap((n) => [event(n), event(n)]).map((each) => JSON.stringify(each)).join("\n")
    })
    assert.strictEqual(answer.json.accepted, 2 * clients.length)
  })

const create = (fields: object = {}) =>
  Effect.flatMap(Callers, ({ client }) => client.operator.automation.createRule({ payload: draft(fields) }))
const run = (id: string) =>
  Effect.flatMap(
    Callers,
    ({ client }) => client.operator.automation.runRule({ path: { id }, payload: { dry_run: false } })
  )
const get = (query = "") =>
  Effect.flatMap(Callers, ({ token }) => call("GET", `${path}${query}`, { token: token.viewer }))
const post = (id: string, move: "acknowledge" | "resolve", body?: object) =>
  Effect.flatMap(Callers, ({ token }) =>
    body === undefined
      ? call("POST", `${path}/${id}/${move}`, { token: token.operator })
      : callJson("POST", `${path}/${id}/${move}`, body, token.operator))
const clientsOf = (answer: { readonly json: { items: ReadonlyArray<{ client: string }> } }) =>
  answer.json.items.map(({ client }) => client).sort()

/** A rule that has just detected these clients, and the ids of their alarms by client. */
const detected = (...clients: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const rule = yield* create()
    yield* observe(...clients)
    yield* run(rule.id)
    const { items } = (yield* get(`?rule_id=${rule.id}`)).json
    assert.lengthOf(items, clients.length)
    return { rule, alarm: (n: number) => items.find((one: { client: string }) => one.client === mac(n)).id as string }
  })

describe("alarms", () => {
  it.effect("open one for each rule and client, and are read by their ids", () =>
    Effect.gen(function*() {
      const { alarm, rule } = yield* detected(1, 2)
      yield* TestClock.adjust("30 seconds")
      yield* run(rule.id)
      const one = yield* get(`/${alarm(1)}`)
      assert.strictEqual(one.status, 200)
      assert.deepStrictEqual(one.json, {
        id: alarm(1),
        kind: "detection",
        rule_id: rule.id,
        rule_name: "busy",
        client: mac(1),
        protocol: "dhcpv4",
        severity: "warning",
        status: "firing",
        present: true,
        total_requests: 2,
        unique_ips: 0,
        count: 2,
        flaps: 0,
        opened_at: DateTime.formatIso(beginning),
        last_seen_at: DateTime.formatIso(DateTime.add(beginning, { seconds: 30 })),
        acknowledged_at: null,
        acknowledged_by: null,
        comment: "",
        resolved_at: null,
        resolved_by: null
      })
      assert.strictEqual((yield* get()).json.total, 2)
    }).pipe(Effect.provide(TestApi)))

  it.effect("aren't opened by a dry run, nor by a run over a range of the past", () =>
    Effect.gen(function*() {
      const { client } = yield* Callers
      const rule = yield* create()
      yield* observe(1)
      const api = client.operator.automation
      yield* api.runRule({ path: { id: rule.id }, payload: { dry_run: true } })
      const start = DateTime.formatIso(DateTime.subtract(beginning, { minutes: 5 }))
      yield* api.runRule({ path: { id: rule.id }, payload: { dry_run: false, start } })
      assert.strictEqual((yield* get()).json.total, 0)
    }).pipe(Effect.provide(TestApi)))

  it.effect("are listed by status, rule, client, severity and time, page by page", () =>
    Effect.gen(function*() {
      const { alarm, rule } = yield* detected(1, 2, 3)
      const critical = yield* create({ severity: "critical" })
      yield* run(critical.id)
      yield* post(alarm(1), "acknowledge")
      yield* post(alarm(2), "resolve")
      const ofRule = `?rule_id=${rule.id}`
      assert.deepStrictEqual(clientsOf(yield* get(`${ofRule}&status=firing`)), [mac(3)])
      assert.deepStrictEqual(clientsOf(yield* get(`${ofRule}&status=acknowledged`)), [mac(1)])
      assert.deepStrictEqual(clientsOf(yield* get(`${ofRule}&status=resolved`)), [mac(2)])
      assert.deepStrictEqual(clientsOf(yield* get("?severity=critical")), [1, 2, 3].map(mac))
      assert.deepStrictEqual(clientsOf(yield* get("?client=02-BD-00-00-00-03")), [mac(3), mac(3)])
      assert.deepStrictEqual(clientsOf(yield* get("?client=nobody")), [])
      const at = (minutes: number) => encodeURIComponent(DateTime.formatIso(DateTime.add(beginning, { minutes })))
      assert.deepStrictEqual(clientsOf(yield* get(`${ofRule}&end=${at(-1)}`)), [])
      assert.deepStrictEqual(clientsOf(yield* get(`${ofRule}&start=${at(1)}`)), [mac(1), mac(3)])
      const first = (yield* get(`${ofRule}&limit=2`)).json
      assert.strictEqual(first.total, 3)
      const second = (yield* get(`${ofRule}&limit=2&cursor=${first.next}`)).json
      assert.isNull(second.next)
      assert.deepStrictEqual(clientsOf({ json: { items: [...first.items, ...second.items] } }), [1, 2, 3].map(mac))
    }).pipe(Effect.provide(TestApi)))

  it.effect("are asked for by what there is", () =>
    Effect.gen(function*() {
      const bad = yield* get("?status=open&rule_id=x&severity=high&start=now&end=5&limit=0")
      const { errors } = assertProblem(bad, 400, "invalid-request")
      assert.sameMembers(
        errors.map((error: { pointer: string }) => error.pointer),
        ["/status", "/rule_id", "/severity", "/start", "/end", "/limit"]
      )
      assertProblem(yield* get("?cursor=x"), 400, "invalid-request")
      assertProblem(yield* get("?stauts=firing"), 400, "invalid-request")
      for (const id of missingIds) {
        for (const answer of [yield* get(`/${id}`), yield* post(id, "acknowledge"), yield* post(id, "resolve")]) {
          assert.strictEqual(assertProblem(answer, 404, "not-found").detail, "There is no such alarm")
        }
      }
    }).pipe(Effect.provide(TestApi)))

  it.effect("are acknowledged with who, when and why, until they are resolved", () =>
    Effect.gen(function*() {
      const { client } = yield* Callers
      const { alarm } = yield* detected(1)
      const { id: operator } = yield* client.operator.account.me()
      yield* TestClock.adjust("5 seconds")
      const at = DateTime.formatIso(yield* DateTime.now)
      const acknowledged = yield* post(alarm(1), "acknowledge", { comment: "on it" })
      assert.deepInclude(acknowledged.json, {
        status: "acknowledged",
        acknowledged_at: at,
        acknowledged_by: operator,
        comment: "on it"
      })
      const resolved = yield* post(alarm(1), "resolve", { comment: "unplugged" })
      assert.deepInclude(resolved.json, {
        status: "resolved",
        resolved_at: at,
        resolved_by: operator,
        comment: "unplugged"
      })
      yield* TestClock.adjust("5 seconds")
      const again = yield* post(alarm(1), "resolve", { comment: "twice" })
      assert.deepStrictEqual(again.json, resolved.json)
      const over = assertProblem(yield* post(alarm(1), "acknowledge"), 400, "alarm-over")
      assert.strictEqual(over.detail, "The alarm is resolved already")
      const { transitions } = yield* AutomationState
      assert.deepStrictEqual(transitions.map(({ by, from_status, to_status }) => [from_status, to_status, by]), [
        ["", "firing", ""],
        ["firing", "acknowledged", String(operator)],
        ["acknowledged", "resolved", String(operator)]
      ])
    }).pipe(Effect.provide(TestApi)))

  it.effect("refuse comments and bodies that are none, and change nothing then", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { alarm } = yield* detected(1)
      const before = (yield* get(`/${alarm(1)}`)).json
      for (const body of [{ comment: 5 }, { comment: "a".repeat(1001) }, { comment: "\0" }, { coment: "x" }]) {
        assertProblem(yield* post(alarm(1), "acknowledge", body), 400, "invalid-request")
        assertProblem(yield* post(alarm(1), "resolve", body), 400, "invalid-request")
      }
      const form = yield* call("POST", `${path}/${alarm(1)}/resolve`, {
        token: token.operator,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "comment=x"
      })
      assertProblem(form, 415, "unsupported-media-type")
      for (const by of [token.viewer, token.auditor]) {
        assertProblem(yield* call("POST", `${path}/${alarm(1)}/acknowledge`, { token: by }), 403, "forbidden")
      }
      assertProblem(yield* call("POST", `${path}/${alarm(1)}/resolve`), 401, "unauthenticated")
      assertProblem(
        yield* call("GET", path, { token: Redacted.make("nop_s_unknown") }),
        401,
        "unauthenticated"
      )
      assert.deepStrictEqual((yield* get(`/${alarm(1)}`)).json, before)
    }).pipe(Effect.provide(TestApi)))

  it.effect("resolve by absence, reopen within the cooldown, and open anew after it", () =>
    Effect.gen(function*() {
      const { alarm, rule } = yield* detected(1, 2)
      yield* TestClock.adjust("61 seconds")
      yield* observe(2)
      yield* run(rule.id)
      assert.deepInclude((yield* get(`/${alarm(1)}`)).json, { status: "resolved", resolved_by: null, present: false })
      assert.deepInclude((yield* get(`/${alarm(2)}`)).json, { status: "firing", count: 2, flaps: 0 })
      yield* TestClock.adjust("61 seconds")
      yield* observe(1)
      yield* run(rule.id)
      assert.deepInclude((yield* get(`/${alarm(1)}`)).json, { status: "firing", count: 2, flaps: 1, resolved_at: null })
      assert.strictEqual((yield* get()).json.total, 2)
      yield* TestClock.adjust("61 seconds")
      yield* run(rule.id)
      yield* TestClock.adjust("121 seconds")
      yield* observe(1)
      yield* run(rule.id)
      const { items, total } = (yield* get(`?client=${mac(1)}`)).json
      assert.strictEqual(total, 2)
      assert.deepInclude(items[0], { status: "firing", count: 1, flaps: 0 })
      assert.deepInclude(items[1], { id: alarm(1), status: "resolved" })
    }).pipe(Effect.provide(TestApi)))

  it.effect("resolved by hand stay so while the client is detected on and on", () =>
    Effect.gen(function*() {
      const { alarm, rule } = yield* detected(1)
      yield* post(alarm(1), "resolve")
      yield* TestClock.adjust("1 minute")
      yield* observe(1)
      yield* run(rule.id)
      assert.deepInclude((yield* get(`/${alarm(1)}`)).json, { status: "resolved" })
      assert.strictEqual((yield* get()).json.total, 1)
    }).pipe(Effect.provide(TestApi)))

  it.effect("leave a trace of who did what", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { alarm } = yield* detected(1)
      yield* post(alarm(1), "acknowledge", { comment: "on it" })
      const { items: [entry] } = (yield* call("GET", `/api/audit?target=${alarm(1)}`, { token: token.auditor })).json
      assert.deepInclude(entry, { operation: "alarms.acknowledge", outcome: "success", request: { comment: "on it" } })
      assert.strictEqual(entry.before.status, "firing")
      assert.deepInclude(entry.after, { status: "acknowledged", comment: "on it" })
    }).pipe(Effect.provide(TestApi)))
})
