import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Logger, Schema, TestClock } from "effect"
import { RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import { RunId } from "../../src/schema/RuleRun.ts"
import { DetectionFailed, Detections } from "../../src/services/Detections.ts"
import { DueWindows } from "../../src/services/DueWindows.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { beginning, Callers, TestApi, testApi } from "../support/testApi.ts"

const rules = "/api/automation/rules"
const missingIds = ["7d4c1a0e-0000-4000-8000-000000000000", "x", "__proto__", "%00"]
const mac = "02:bd:00:00:00:01"
const at = (minutes: number) => DateTime.add(beginning, { minutes })
const iso = (minutes: number) => DateTime.formatIso(at(minutes))

/** A rule that is due every minute, and of whose windows these, in minutes from the beginning, were missed. */
const missing = (minutes: ReadonlyArray<number>, fields: object = {}) =>
  Effect.gen(function*() {
    const { client } = yield* Callers
    const windows = yield* DueWindows
    const rule = yield* client.operator.automation.createRule({
      payload: Schema.decodeUnknownSync(RuleDraft)({
        name: "busy",
        mode: "enforce",
        threshold: { min_requests: 2 },
        schedule: { type: "interval", every: "1m" },
        lookback_minutes: 1,
        cooldown_minutes: 1,
        actions: ["block"],
        ...fields
      })
    })
    const span = (yield* windows.spans).find((span) => span.rule === rule.id)
    if (span === undefined) return rule
    yield* windows.pass(span, {
      verdict: "missed",
      reason: "",
      windows: minutes.map((minute) => ({ due_at: at(minute), through: null })),
      settled: at(Math.max(0, ...minutes))
    })
    return rule
  })

/** Two requests of one client half a minute before each of these minutes. */
const observe = (...minutes: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const { token } = yield* Callers
    const lines = minutes.flatMap((minute) => {
      const event_time = DateTime.formatIso(DateTime.subtract(at(minute), { seconds: 30 }))
      const line = JSON.stringify({ event_time, protocol: "dhcpv4", message_type: "discover", client_mac: mac })
      return [line, line]
    })
    const headers = { "content-type": "application/x-ndjson" }
    yield* call("POST", "/api/dhcp/events", { token: token.operator, headers, body: lines.join("\n") })
  })

const get = (url: string) => Effect.flatMap(Callers, ({ token }) => call("GET", url, { token: token.viewer }))
const backfill = (id: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(
    Callers,
    ({ token }) =>
      call("POST", `${rules}/${id}/backfill`, { token: token.operator, headers, body: JSON.stringify(body) })
  )
const verdicts = (id: string) =>
  Effect.map(
    get(`${rules}/${id}/windows`),
    ({ json }) => json.items.map(({ due_at, verdict }: { due_at: string; verdict: string }) => [due_at, verdict])
  )

describe("due windows", () => {
  it.effect("are listed newest first, by verdict and page", () =>
    Effect.gen(function*() {
      const rule = yield* missing([1, 2, 3])
      const all = yield* get(`${rules}/${rule.id}/windows`)
      assert.strictEqual(all.json.total, 3)
      assert.deepStrictEqual(all.json.items[0], {
        rule_id: rule.id,
        due_at: iso(3),
        through: null,
        verdict: "missed",
        run_id: null,
        reason: ""
      })
      yield* backfill(rule.id, { start: iso(0), end: iso(1) })
      assert.deepStrictEqual(yield* verdicts(rule.id), [[iso(3), "missed"], [iso(2), "missed"], [iso(1), "run"]])
      const missed = yield* get(`${rules}/${rule.id}/windows?verdict=missed&limit=1`)
      assert.deepInclude(missed.json, { total: 2 })
      const rest = yield* get(`${rules}/${rule.id}/windows?verdict=missed&limit=1&cursor=${missed.json.next}`)
      assert.strictEqual(rest.json.items[0].due_at, iso(2))
      assert.isNull(rest.json.next)
      const other = yield* missing([7])
      assert.deepStrictEqual(yield* verdicts(other.id), [[iso(7), "missed"]])
    }).pipe(Effect.provide(TestApi)))

  it.effect("are asked for by what there is", () =>
    Effect.gen(function*() {
      const rule = yield* missing([])
      const bad = yield* get(`${rules}/${rule.id}/windows?verdict=late&limit=1001`)
      assert.sameMembers(
        assertProblem(bad, 400, "invalid-request").errors.map((error: { pointer: string }) => error.pointer),
        ["/verdict", "/limit"]
      )
      assertProblem(yield* get(`${rules}/${rule.id}/windows?cursor=x`), 400, "invalid-request")
      for (const id of missingIds) {
        assert.strictEqual(
          assertProblem(yield* get(`${rules}/${id}/windows`), 404, "not-found").detail,
          "There is no such rule"
        )
      }
      assertProblem(yield* call("GET", `${rules}/${rule.id}/windows`), 401, "unauthenticated")
    }).pipe(Effect.provide(TestApi)))
})

describe("a backfill", () => {
  it.effect("looks at what was missed, oldest first, up to its limit, and tells what is left", () =>
    Effect.gen(function*() {
      const rule = yield* missing([1, 2, 3, 4])
      yield* observe(1, 2)
      const first = yield* backfill(rule.id, { start: iso(0), end: iso(3), limit: 2 })
      assert.strictEqual(first.status, 200)
      const done = { rule_id: rule.id, run: 2, skipped: 0, failed: 0, remaining: 1, actions_triggered: 0 }
      assert.deepStrictEqual(first.json, done)
      const second = yield* backfill(rule.id, { start: iso(0), end: iso(3), limit: 2 })
      assert.deepStrictEqual(second.json, { ...done, run: 1, remaining: 0 })
      const third = yield* backfill(rule.id, { start: iso(0), end: iso(3) })
      assert.deepStrictEqual(third.json, { ...done, run: 0, remaining: 0 })
      assert.deepStrictEqual((yield* verdicts(rule.id))[0], [iso(4), "missed"])
      const { items } = (yield* get(`${rules}/${rule.id}/runs`)).json
      const told = items.map((run: Record<string, unknown>) => [
        run["due_at"],
        run["trigger"],
        run["dry_run"],
        run["verdict"],
        run["macs_detected"]
      ])
      assert.sameDeepMembers(told, [
        [iso(1), "backfill", true, "run", 1],
        [iso(2), "backfill", true, "run", 1],
        [iso(3), "backfill", true, "run", 0]
      ])
      const last = items.find((run: { due_at: string }) => run.due_at === iso(3))
      assert.deepInclude(last, { window_start: iso(2), window_end: iso(3), reason: "backfill" })
      assert.strictEqual((yield* get("/api/automation/alarms")).json.total, 0)
    }).pipe(Effect.provide(TestApi)))

  it.effect("acts once on a client within its cooldown, and never where the rule only simulates", () =>
    Effect.gen(function*() {
      const rule = yield* missing([1, 2, 5])
      yield* observe(1, 2, 5)
      const enforced = yield* backfill(rule.id, { start: iso(0), end: iso(5), mode: "enforce" })
      assert.deepInclude(enforced.json, { run: 1, skipped: 2, remaining: 0, actions_triggered: 1 })
      const [block] = (yield* get("/api/actions")).json.items
      assert.deepInclude(block, { client: mac, type: "block" })
      const simulating = yield* missing([1], { mode: "simulate" })
      const simulated = yield* backfill(simulating.id, { start: iso(0), end: iso(5), mode: "enforce" })
      assert.deepInclude(simulated.json, { run: 1, actions_triggered: 0 })
    }).pipe(Effect.provide(TestApi)))

  it.effect("sent again with its key is answered again and does nothing", () =>
    Effect.gen(function*() {
      const rule = yield* missing([1, 2])
      const body = { start: iso(0), end: iso(2), limit: 1 }
      const key = { "idempotency-key": "one" }
      const first = yield* backfill(rule.id, body, key)
      assert.deepInclude(first.json, { run: 1, remaining: 1 })
      const again = yield* backfill(rule.id, body, key)
      assert.deepStrictEqual(again.json, first.json)
      assert.deepStrictEqual((yield* verdicts(rule.id)).map(([, verdict]: [string, string]) => verdict), [
        "missed",
        "run"
      ])
      const other = yield* backfill(rule.id, { ...body, limit: 2 }, key)
      assertProblem(other, 422, "idempotency-key-reused")
    }).pipe(Effect.provide(TestApi)))

  it.effect("is asked for with a range, a mode and a limit that there are", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const rule = yield* missing([1])
      const range = { start: iso(0), end: iso(2) }
      const wrong: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
        [{}, ["/start", "/end"]],
        [{ start: "now", end: 5 }, ["/start", "/end"]],
        [{ start: iso(2), end: iso(0) }, ["/start"]],
        [{ start: iso(2), end: iso(2) }, ["/start"]],
        [{ ...range, mode: "act", limit: 0 }, ["/mode", "/limit"]],
        [{ ...range, limit: 1001 }, ["/limit"]],
        [{ ...range, dry_run: true }, ["/dry_run"]]
      ]
      for (const [body, pointers] of wrong) {
        const { errors } = assertProblem(yield* backfill(rule.id, body), 400, "invalid-request")
        assert.sameMembers(errors.map((error: { pointer: string }) => error.pointer), [...pointers])
      }
      for (const id of missingIds) assertProblem(yield* backfill(id, range), 404, "not-found")
      assertProblem(yield* callJson("POST", `${rules}/${rule.id}/backfill`, range, token.viewer), 403, "forbidden")
      assertProblem(
        yield* call("POST", `${rules}/${rule.id}/backfill`, { token: token.operator }),
        400,
        "invalid-request"
      )
      assert.deepStrictEqual(yield* verdicts(rule.id), [[iso(1), "missed"]])
    }).pipe(Effect.provide(TestApi)))

  const unreachable = new DetectionFailed({ reason: "unreachable", message: "no answer" })
  const failing = testApi(
    Layer.succeed(
      Detections,
      Detections.of({ detect: () => Effect.fail(unreachable), detectOnly: () => Effect.fail(unreachable) })
    )
  ).pipe(Layer.provideMerge(Logger.replace(Logger.defaultLogger, Logger.none)))

  it.effect("that can't reach the events leaves what it didn't evaluate to be worked off", () =>
    Effect.gen(function*() {
      const rule = yield* missing([1, 2])
      const answer = yield* backfill(rule.id, { start: iso(0), end: iso(2) })
      assertProblem(answer, 503, "unavailable")
      assert.isDefined(answer.headers["retry-after"])
      const { total } = (yield* get(`${rules}/${rule.id}/windows?verdict=running`)).json
      assert.strictEqual(total, 0)
      const { total: left } = yield* (yield* DueWindows).missed(RuleId.make(rule.id), {
        after: at(0),
        through: at(2),
        limit: 10
      })
      assert.strictEqual(left, 2)
    }).pipe(Effect.provide(failing)))
})

describe("the scheduler", () => {
  it.effect("tells who leads, what runs and what is due next", () =>
    Effect.gen(function*() {
      const windows = yield* DueWindows
      const status = Effect.map(get("/api/automation/scheduler"), ({ json }) => json)
      assert.deepStrictEqual(yield* status, { leader: null, last_tick_at: null, lag_ms: 0, running: [], next: [] })
      const rule = yield* missing([])
      const hourly = yield* missing([], { schedule: { type: "cron", cron: "0 * * * *", timezone: "Europe/Berlin" } })
      yield* missing([], { enabled: false })
      yield* missing([], { schedule: { type: "manual" } })
      yield* windows.beat({ node: "a:1", at: beginning, lagMillis: 12 })
      const next = [{ rule_id: rule.id, due_at: iso(1) }, { rule_id: hourly.id, due_at: iso(60) }]
      const led = { leader: "a:1", last_tick_at: iso(0), lag_ms: 12, running: [] as ReadonlyArray<object>, next }
      assert.deepStrictEqual(yield* status, led)

      const span = (yield* windows.spans).find((span) => span.rule === rule.id)!
      yield* TestClock.adjust("1 minute")
      yield* windows.beat({ node: "b:2", at: at(1), lagMillis: 0 })
      const claim = { run: RunId.make("7d4c1a0e-0000-4000-8000-000000000001"), owner: "b", leaseUntil: at(2) }
      assert.isTrue(yield* windows.claim(span, at(1), claim))
      const later = yield* status
      assert.deepInclude(later, { leader: "b:2", lag_ms: 0 })
      assert.deepStrictEqual(later.running, [{ rule_id: rule.id, due_at: iso(1) }])
      assert.strictEqual(later.next[0].due_at, iso(2))
      yield* TestClock.adjust("6 seconds")
      assert.deepInclude(yield* status, { leader: null, last_tick_at: iso(1) })
      assertProblem(yield* call("GET", "/api/automation/scheduler"), 401, "unauthenticated")
    }).pipe(Effect.provide(TestApi)))
})

describe("a scheduled rule", () => {
  it.effect("is changed and deleted only as it was read", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const rule = yield* missing([])
      const url = `${rules}/${rule.id}`
      const put = (etag: string, every: string) =>
        call("PUT", url, {
          token: token.operator,
          headers: { "if-match": etag },
          body: JSON.stringify({ name: "n", threshold: { min_requests: 2 }, schedule: { type: "interval", every } })
        })
      const read = yield* get(url)
      const etag = read.headers["etag"]!
      const changed = yield* put(etag, "2m")
      assert.strictEqual(changed.status, 200)
      assert.notStrictEqual(changed.headers["etag"], etag)
      assertProblem(yield* put(etag, "3m"), 412, "precondition-failed")
      const headers = { "if-match": etag }
      assertProblem(yield* call("DELETE", url, { token: token.operator, headers }), 412, "precondition-failed")
      const { next } = (yield* get("/api/automation/scheduler")).json
      assert.deepStrictEqual(next, [{ rule_id: rule.id, due_at: iso(2) }])
      const current = { "if-match": changed.headers["etag"]! }
      assert.strictEqual((yield* call("DELETE", url, { token: token.operator, headers: current })).status, 200)
      assert.deepStrictEqual((yield* get("/api/automation/scheduler")).json.next, [])
    }).pipe(Effect.provide(TestApi)))
})
