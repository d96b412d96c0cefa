import { HttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Redacted, TestClock } from "effect"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { assertProblem, type Call, call } from "../support/client.ts"
import { Callers, type Ports } from "../support/testApi.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)
const unknownId = "7d4c1a0e-0000-4000-8000-000000000000"

const send = (method: string, path: string, value: unknown, options: Call = {}) =>
  call(method, path, { ...options, ...(value === undefined ? {} : { body: JSON.stringify(value) }) })

const from = (address: string) => ({ "x-test-address": address })

const rule = (name: string) => ({ name, threshold: { min_requests: 5 } })

const entriesOf = Effect.fnUntraced(function*(query: string) {
  const { token } = yield* Callers
  return (yield* call("GET", `/api/audit?${query}`, { token: token.auditor })).json.items as ReadonlyArray<any>
})

const idOf = (token: Redacted.Redacted) =>
  Effect.map(call("GET", "/api/auth/me", { token }), ({ json }) => json.id as number)

const restrict = (token: Redacted.Redacted, type: string, network: string, more: object = {}) =>
  send("POST", "/api/ip-restrictions", { type, network, ...more }, { token })

/** What access, settings, audit and the shared headers promise over HTTP, whatever the ports are made of. */
export const accessApiContract = (name: string, layer: Layer.Layer<HttpClient.HttpClient | Callers | Ports>) =>
  describe(`access over HTTP: ${name}`, () => {
    it.effect("an address that is refused is refused at once, at login after a right password only", () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        const login = (password: string, address: string) =>
          send("POST", "/api/auth/login", { username: "viewer", password }, { headers: from(address) })
        const me = (address: string) => call("GET", "/api/auth/me", { token: token.viewer, headers: from(address) })
        const right = "the password of viewer"

        const denied = yield* restrict(token.viewer, "deny", "198.51.100.0/24")
        assert.strictEqual(denied.status, 201)
        assert.strictEqual(denied.headers["location"], `/api/ip-restrictions/${denied.json.id}`)
        assertProblem(yield* me("198.51.100.7"), 403, "ip-restricted")
        assertProblem(yield* me("::ffff:198.51.100.7"), 403, "ip-restricted")
        assert.strictEqual((yield* me("198.51.101.7")).status, 200)
        assertProblem(yield* login("wrong", "198.51.100.7"), 401, "invalid-credentials")
        assertProblem(yield* login(right, "198.51.100.7"), 403, "ip-restricted")
        assert.strictEqual((yield* login(right, "192.0.2.1")).status, 200)

        yield* restrict(token.viewer, "allow", "192.0.2.0/24")
        assertProblem(yield* me("198.51.101.7"), 403, "ip-restricted")
        assert.strictEqual((yield* me("192.0.2.200")).status, 200)
        yield* send("PATCH", `/api/ip-restrictions/${denied.json.id}`, { enabled: false }, { token: token.viewer })
        assertProblem(yield* me("198.51.100.7"), 403, "ip-restricted")

        yield* TestClock.adjust("6 seconds")
        const id = yield* idOf(token.viewer)
        const list = yield* call("GET", `/api/ip-restrictions/user/${id}`, { token: token.viewer })
        assert.strictEqual(list.json.count, 2)
        assert.strictEqual(list.json.user_id, id)
        const counted = list.json.restrictions[denied.json.id]
        assert.strictEqual(counted.match_count, 3)
        assert.isString(counted.last_matched_at)
        assert.isFalse(counted.enabled)
      }).pipe(Effect.provide(layer)))

    it.effect("nobody locks themselves out unless forced", () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        assertProblem(yield* restrict(token.viewer, "deny", "192.0.2.0/24"), 400, "self-lockout")
        assertProblem(yield* restrict(token.viewer, "allow", "2001:db8::/32"), 400, "self-lockout")
        const off = yield* restrict(token.viewer, "allow", "2001:db8::/32", { enabled: false })
        const path = `/api/ip-restrictions/${off.json.id}`
        assertProblem(yield* send("PATCH", path, { enabled: true }, { token: token.viewer }), 400, "self-lockout")
        const own = yield* restrict(token.viewer, "allow", "192.0.2.1")
        assert.strictEqual((yield* send("PATCH", path, { enabled: true }, { token: token.viewer })).status, 200)
        const last = `/api/ip-restrictions/${own.json.id}`
        assertProblem(yield* call("DELETE", last, { token: token.viewer }), 400, "self-lockout")
        assert.strictEqual((yield* call("DELETE", `${last}?force=true`, { token: token.viewer })).status, 200)
        assertProblem(yield* call("GET", "/api/auth/me", { token: token.viewer }), 403, "ip-restricted")
      }).pipe(Effect.provide(layer)))

    it.effect("what is another user's looks like what is not there", () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        const id = (yield* restrict(token.operator, "deny", "203.0.113.0/24")).json.id
        const operator = yield* idOf(token.operator)
        const operations = [
          ["PATCH", "/api/ip-restrictions/", { enabled: true }, [id, unknownId, "x", "%00"]],
          ["DELETE", "/api/ip-restrictions/", undefined, [id, unknownId, "x", "1"]],
          ["GET", "/api/ip-restrictions/user/", undefined, [String(operator), "999999", "x", "-1", "99999999999", "01"]]
        ] as const
        const bodyOf = (text: string) => text.replace(/"(instance|requestId)":"[^"]*"/g, "\"$1\":\"\"")
        for (const [method, path, value, ids] of operations) {
          const answers = yield* Effect.forEach(
            ids,
            (each) => send(method, path + each, value, { token: token.viewer })
          )
          for (const answer of answers) {
            assertProblem(answer, 404, "not-found")
            assert.strictEqual(bodyOf(answer.text), bodyOf(answers[0]!.text))
          }
        }
        const check = (user_id: number) =>
          send("POST", "/api/ip-restrictions/check", { user_id, ip: "203.0.113.9" }, { token: token.viewer })
        assert.strictEqual(bodyOf((yield* check(operator)).text), bodyOf((yield* check(999_999)).text))
        const forOther = (user_id: number) => restrict(token.viewer, "deny", "203.0.113.0/24", { user_id })
        assert.strictEqual(bodyOf((yield* forOther(operator)).text), bodyOf((yield* forOther(999_999)).text))

        const managed = yield* send("PATCH", `/api/ip-restrictions/${id}`, { enabled: false }, { token: token.admin })
        assert.isFalse(managed.json.enabled)
        assert.strictEqual(
          (yield* call("GET", `/api/ip-restrictions/user/${operator}`, { token: token.admin })).json.count,
          1
        )
      }).pipe(Effect.provide(layer)))

    it.effect("settings change by field, under their ETag", () =>
      Effect.gen(function*() {
        const { token: { viewer: token } } = yield* Callers
        const path = "/api/user/settings"
        const first = yield* call("GET", path, { token })
        assert.deepStrictEqual(first.json, { success: true, settings: {} })
        const put = (value: object, headers = {}) => send("PUT", path, value, { token, headers })
        yield* put({ theme: "dark", notifications: { email: true } })
        const second = yield* put({ timezone: "Europe/Berlin", notifications: { in_app: false } })
        assert.deepStrictEqual(second.json.settings, {
          theme: "dark",
          timezone: "Europe/Berlin",
          notifications: { email: true, in_app: false }
        })
        const etag = second.headers["etag"]!
        assert.strictEqual((yield* call("GET", path, { token, headers: { "if-none-match": etag } })).status, 304)
        assertProblem(yield* put({ theme: "light" }, { "if-match": first.headers["etag"] }), 412, "precondition-failed")
        assert.strictEqual((yield* put({ theme: "light" }, { "if-match": etag })).status, 200)
        for (const wrong of [{ theme: "pink" }, { colour: 1 }, { timezone: "Mars/X" }, { language: "?" }]) {
          assertProblem(yield* put(wrong), 400, "invalid-request")
        }
      }).pipe(Effect.provide(layer)))

    it.effect("five messages of feedback an hour are taken", () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        const submit = send("POST", "/api/feedback", { category: "bug", message: "it broke" }, { token: token.viewer })
        for (const _ of times(5)) assert.deepInclude((yield* submit).json, { success: true, status: "received" })
        const refused = yield* submit
        assertProblem(refused, 429, "feedback-limited")
        assert.strictEqual(refused.headers["retry-after"], "3600")
        assert.strictEqual((yield* call("GET", "/api/feedback", { token: token.admin })).json.total, 5)
        yield* TestClock.adjust("59 minutes")
      }).pipe(Effect.provide(layer)))

    it.effect("of equal requests at once with one key one creates, and all are told the same", () =>
      Effect.gen(function*() {
        const { token: { operator: token } } = yield* Callers
        const headers = { "idempotency-key": "one" }
        const create = send("POST", "/api/automation/rules", rule("once"), { token, headers })
        const answers = yield* Effect.all(times(20).map(() => create), { concurrency: "unbounded" })
        for (const { status } of answers) assert.include([201, 409], status)
        const again = yield* create
        const created = answers.find(({ status }) => status === 201)!
        assert.strictEqual(again.text, created.text)
        for (const header of ["location", "etag", "content-type"]) {
          assert.strictEqual(again.headers[header], created.headers[header], header)
        }
        assert.strictEqual(again.headers["idempotent-replayed"], "true")
        assert.strictEqual((yield* call("GET", "/api/automation/rules", { token })).json.total, 1)
        assert.lengthOf(yield* entriesOf("operation=automation.createRule"), 1)

        const other = send("POST", "/api/automation/rules", rule("other"), { token, headers })
        assertProblem(yield* other, 422, "idempotency-key-reused")
        for (const key of ["", "a b", "x".repeat(256)]) {
          const bad = send("POST", "/api/automation/rules", rule("x"), { token, headers: { "idempotency-key": key } })
          assertProblem(yield* bad, 400, "invalid-request")
        }
      }).pipe(Effect.provide(layer)))

    it.effect("a refusal is remembered too", () =>
      Effect.gen(function*() {
        const { token: { operator: token } } = yield* Callers
        const run = send("POST", `/api/automation/rules/${unknownId}/run`, {}, {
          token,
          headers: { "idempotency-key": "k" }
        })
        const [first, second] = [yield* run, yield* run]
        assertProblem(first, 404, "not-found")
        assertProblem(second, 404, "not-found")
        assert.strictEqual(second.json.instance, first.json.instance)
      }).pipe(Effect.provide(layer)))

    it.effect("of writes at once under one ETag one wins", () =>
      Effect.gen(function*() {
        const { token: { operator: token } } = yield* Callers
        const created = yield* send("POST", "/api/automation/rules", rule("r"), { token })
        const path = created.headers["location"]!
        const etag = created.headers["etag"]!
        assert.strictEqual((yield* call("GET", path, { token })).headers["etag"], etag)
        const headers = { "if-match": etag }
        const answers = yield* Effect.all(
          times(20).map((n) => send("PUT", path, rule(`r${n}`), { token, headers })),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(answers.filter(({ status }) => status === 200), 1)
        for (const answer of answers.filter(({ status }) => status !== 200)) {
          assertProblem(answer, 412, "precondition-failed")
        }
        assertProblem(yield* call("DELETE", path, { token, headers }), 412, "precondition-failed")
        assert.lengthOf(yield* entriesOf("operation=automation.updateRule"), 1)
        assert.strictEqual((yield* call("DELETE", path, { token, headers: { "if-match": "*" } })).status, 200)
      }).pipe(Effect.provide(layer)))

    it.effect("what is done is recorded, who tried to sign in too, and no secret", () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        yield* send("POST", "/api/auth/login", { username: "my-secret-pass-phrase", password: "hunter2hunter2" })
        yield* send("POST", "/api/auth/login", { username: "VIEWER", password: "hunter2hunter2" })
        const created = yield* send("POST", "/api/automation/rules", rule("a"), {
          token: token.operator,
          headers: from("192.0.2.77")
        })
        yield* send("PUT", created.headers["location"]!, rule("b"), { token: token.operator })
        yield* send("POST", `${created.headers["location"]}/run`, { dry_run: true, reason: "look" }, {
          token: token.operator
        })
        const failed = yield* entriesOf("operation=signIn.login&outcome=failure")
        assert.sameDeepMembers(
          failed.map(({ request, status, username }) => ({ request, status, username })),
          [{ request: null, status: 401, username: null }, { request: null, status: 401, username: "viewer" }]
        )
        const events = yield* entriesOf("operation=login.failed")
        assert.sameDeepMembers(
          events.map(({ outcome, request_id, username }) => ({ outcome, request_id, username })),
          failed.map(({ request_id, username }) => ({ outcome: "failure", request_id, username }))
        )
        const signedIn = yield* entriesOf("operation=signIn.login&outcome=success")
        assert.sameMembers(signedIn.map(({ username }) => username), ["admin", "operator", "viewer", "auditor"])
        const changes = yield* entriesOf(`target=${created.json.id}`)
        assert.deepStrictEqual(
          changes.map(({ operation, outcome }) => `${operation} ${outcome}`).sort(),
          [
            "automation.createRule success",
            "automation.runRule begun",
            "automation.runRule success",
            "automation.updateRule success"
          ]
        )
        const of = (operation: string) => changes.find((entry) => entry.operation === operation)
        assert.deepInclude(of("automation.createRule"), { username: "operator", address: "192.0.2.77", status: 201 })
        assert.strictEqual(of("automation.createRule").request_id, created.headers["x-request-id"])
        assert.strictEqual(of("automation.updateRule").before.name, "a")
        assert.strictEqual(of("automation.updateRule").after.name, "b")
        assert.strictEqual(of("automation.runRule").reason, "look")
        const whole = yield* call("GET", "/api/audit?limit=1000", { token: token.auditor })
        assert.notInclude(whole.text, "hunter2")
        assert.notInclude(whole.text, "my-secret")
        assert.notInclude(whole.text, "nop_s_")
        yield* (yield* AuditTrail).seal
        const verdict = yield* call("GET", "/api/audit/verify", { token: token.auditor })
        assert.deepInclude(verdict.json, { valid: true, faults: [] })
      }).pipe(Effect.provide(layer)))
  })
