import { assert, layer } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import { assertProblem, call, callJson } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const filters = "/api/dhcp-filters"
const ofKnown = { rules: [{ field: "client_mac", op: "eq", value: "02-BD-00-00-00-01" }] }
const canonical = { match: "all", rules: [{ field: "client_mac", op: "eq", value: "02:bd:00:00:00:01" }] }

const create = Effect.fnUntraced(function*(token: Redacted.Redacted, name = "starver") {
  const answer = yield* callJson("POST", filters, { name, rules: ofKnown }, token)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer
})

layer(TestApi)("filters", (it) => {
  it.effect("are created, read, listed, changed and deleted", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const created = yield* create(token.viewer)
      const { id } = created.json
      assert.deepInclude(created.json, { name: "starver", rules: canonical, revision: 1 })
      assert.strictEqual(created.headers["location"], `${filters}/${id}`)
      assert.strictEqual(created.headers["etag"], "\"1\"")
      const path = `${filters}/${id}`
      assert.deepStrictEqual((yield* call("GET", path, { token: token.viewer })).json, created.json)
      assert.deepStrictEqual((yield* call("GET", filters, { token: token.viewer })).json, {
        items: [created.json],
        total: 1,
        next: null
      })
      const same = { token: token.viewer, headers: { "if-none-match": "\"1\"" } }
      assert.strictEqual((yield* call("GET", path, same)).status, 304)

      const any = { match: "any", rules: [{ field: "hostname", op: "exists" }] }
      const forms: ReadonlyArray<[unknown, object]> = [
        [{ rules: any }, any],
        [any, any],
        [{ rules: [] }, { match: "all", rules: [] }],
        [{ rules: ofKnown, name: "renamed" }, canonical]
      ]
      let revision = 1
      for (const [form, rules] of forms) {
        const answer = yield* callJson("PUT", path, form, token.viewer)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual(answer.json, { success: true, id })
        assert.strictEqual(answer.headers["etag"], `"${++revision}"`)
        const { json } = yield* call("GET", path, { token: token.viewer })
        const stored = JSON.stringify(json.rules).replace(",\"value\":true", "")
        assert.strictEqual(stored, JSON.stringify(rules))
      }
      assert.strictEqual((yield* call("GET", path, { token: token.viewer })).json.name, "renamed")

      const stale = { body: "{\"rules\":[]}", token: token.viewer, headers: { "if-match": "\"1\"" } }
      assertProblem(yield* call("PUT", path, stale), 412, "precondition-failed")
      assertProblem(yield* call("DELETE", path, { ...stale, body: "" }), 412, "precondition-failed")
      const deleted = yield* call("DELETE", path, { token: token.viewer })
      assert.deepStrictEqual(deleted.json, { success: true, id })
      assertProblem(yield* call("GET", path, { token: token.viewer }), 404, "not-found")
    }))

  it.effect("of another user are answered as those that don't exist", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { id } = (yield* create(token.operator, "mine")).json
      const ids = [id, "7d4c1a0e-0000-4000-8000-000000000000", "nonsense"]
      const operations = [["GET", undefined], ["PUT", "{\"rules\":[]}"], ["DELETE", undefined]] as const
      for (const [method, body] of operations) {
        const answers = yield* Effect.forEach(ids, (each) =>
          call(method, `${filters}/${each}`, { token: token.admin, ...(body === undefined ? {} : { body }) }))
        const details = answers.map((answer) =>
          assertProblem(answer, 404, "not-found").detail
        )
        assert.strictEqual(new Set(details).size, 1)
      }
      assert.strictEqual((yield* call("GET", filters, { token: token.admin })).json.total, 0)
      assert.strictEqual((yield* call("GET", `${filters}/${id}`, { token: token.operator })).json.name, "mine")
    }))

  it.effect("are refused with all that is wrong, each by its place", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { id } = (yield* create(token.viewer)).json
      const wrong = [{ field: "colour", op: "eq", value: "red" }, { field: "hostname", op: "cidr", value: "x" }]
      const pointers = (answer: Parameters<typeof assertProblem>[0]) =>
        assertProblem(answer, 400, "invalid-request").errors.map((error: { pointer: string }) => error.pointer)
      const put = (body: unknown) => Effect.map(callJson("PUT", `${filters}/${id}`, body, token.viewer), pointers)
      assert.deepStrictEqual(yield* put({ rules: wrong }), ["/rules/0/field", "/rules/1/op"])
      assert.deepStrictEqual(yield* put({ rules: { rules: wrong } }), ["/rules/rules/0/field", "/rules/rules/1/op"])
      assert.deepStrictEqual(yield* put({ rules: [], name: "x" }), ["/name"])
      assert.deepStrictEqual(yield* put({ rules: { rules: [] }, colour: 1 }), ["/colour"])
      assert.deepStrictEqual(yield* put({}), ["/rules"])
      for (const none of [null, [], "x", 1]) assert.lengthOf(yield* put(none), 1)
      const post = yield* callJson("POST", filters, { name: "", rules: { rules: wrong } }, token.viewer)
      assert.deepStrictEqual(pointers(post), ["/name", "/rules/rules/0/field", "/rules/rules/1/op"])
    }))

  it.effect("are as many as there can be, and a retried request makes one", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const send = (key: string) =>
        call("POST", filters, {
          body: JSON.stringify({ name: key, rules: { rules: [] } }),
          token: token.auditor,
          headers: { "idempotency-key": key, "content-type": "application/json" }
        })
      const first = yield* send("key-0")
      const again = yield* send("key-0")
      assert.strictEqual(first.json.id, again.json.id)
      for (let index = 1; index < 100; index++) assert.strictEqual((yield* send(`key-${index}`)).status, 201)
      assertProblem(yield* send("key-100"), 400, "filter-limit")
    }))

  it.effect("that are the default of the settings leave them whole when they go", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const settings = (body: object) => callJson("PUT", "/api/user/settings", body, token.viewer)
      const foreign = (yield* create(token.operator)).json.id
      for (const unknown of ["7d4c1a0e-0000-4000-8000-000000000000", foreign]) {
        const refused = assertProblem(yield* settings({ default_filter_id: unknown }), 400, "invalid-request")
        assert.strictEqual(refused.errors[0].pointer, "/default_filter_id")
      }
      const [kept, gone] = [(yield* create(token.viewer)).json.id, (yield* create(token.viewer)).json.id]
      const set = yield* settings({ default_filter_id: gone, theme: "dark" })
      assert.deepStrictEqual(set.json.settings, { default_filter_id: gone, theme: "dark" })
      yield* call("DELETE", `${filters}/${kept}`, { token: token.viewer })
      const before = yield* call("GET", "/api/user/settings", { token: token.viewer })
      assert.strictEqual(before.headers["etag"], set.headers["etag"])
      yield* call("DELETE", `${filters}/${gone}`, { token: token.viewer })
      const after = yield* call("GET", "/api/user/settings", { token: token.viewer })
      assert.deepStrictEqual(after.json.settings, { default_filter_id: null, theme: "dark" })
      assert.notStrictEqual(after.headers["etag"], set.headers["etag"])
    }))

  it.effect("are validated with what they would have matched", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const line = (mac: string, at: string) =>
        JSON.stringify({ event_time: at, protocol: "dhcpv4", message_type: "discover", client_mac: mac })
      const body = [
        line("02:bd:00:00:00:01", "2096-02-01T23:58:00Z"),
        line("02:bd:00:00:00:02", "2096-02-01T23:59:00Z"),
        line("02:bd:00:00:00:03", "2096-02-01T23:59:30Z"),
        line("02:bd:00:00:00:01", "2096-02-01T23:40:00Z")
      ].join("\n")
      yield* call("POST", "/api/dhcp/events", {
        body,
        token: token.operator,
        headers: { "content-type": "application/x-ndjson" }
      })
      const validate = (value: unknown) => callJson("POST", `${filters}/validate`, value, token.viewer)
      const right = { valid: true, errors: [], canonical, matched: 1, total: 3, match_rate: 1 / 3, lookback_minutes: 5 }
      assert.deepStrictEqual((yield* validate(ofKnown)).json, right)
      assert.deepStrictEqual((yield* validate({ rules: ofKnown })).json, right)
      assert.deepInclude((yield* validate({ rules: ofKnown, lookback_minutes: 30 })).json, { matched: 2, total: 4 })
      assert.deepInclude((yield* validate({ match: "any", rules: [] })).json, {
        canonical: { match: "any", rules: [] },
        match_rate: 1
      })
      const wrong = (yield* validate({ rules: [{ field: "hostname", op: "eq" }, 7] })).json
      assert.deepInclude(wrong, { valid: false, canonical: null, matched: null, total: null, match_rate: null })
      assert.deepStrictEqual(wrong.errors.map((error: { pointer: string }) => error.pointer), [
        "/rules/0/value",
        "/rules/1"
      ])
      for (const rules of [null, "x", { rules: "x" }, { match: "none", rules: [] }]) {
        assert.strictEqual((yield* validate({ rules })).json.valid, false, JSON.stringify(rules))
      }
      assert.strictEqual((yield* validate({ rules: ofKnown, match: "any" })).json.errors[0].pointer, "/rules")
      for (const refused of [{ rules: [], lookback_minutes: 0 }, { rules: [], matc: "any" }, {}]) {
        assertProblem(yield* validate(refused), 400, "invalid-request")
      }
    }))
})
