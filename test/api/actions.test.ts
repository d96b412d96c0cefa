import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const mac = (n: number) => `02:ac:00:00:00:${n.toString(16).padStart(2, "0")}`
const operator = Effect.map(Callers, ({ token }) => token.operator)
const post = (path: string, value: unknown) =>
  Effect.flatMap(operator, (token) => callJson("POST", `/api/actions${path}`, value, token))
const send = (method: string, path: string) =>
  Effect.flatMap(operator, (token) => call(method, `/api/actions${path}`, { token }))
const order = (n: number, fields: object = {}) =>
  post("", { client_mac: mac(n), type: "block", reason: "as asked", ...fields })

describe("actions", () => {
  layer(TestApi)((it) => {
    it.effect("come into force once for a client, are prolonged and lifted", () =>
      Effect.gen(function*() {
        const made = yield* order(1, { duration_minutes: 5, client_mac: "02-AC-00-00-00-01" })
        assert.strictEqual(made.status, 201)
        const { id } = made.json
        assert.strictEqual(made.headers["location"], `/api/actions/${id}`)
        assert.deepInclude(made.json, {
          type: "block",
          client: mac(1),
          client_mac: mac(1),
          status: "active",
          tag: null
        })
        const again = yield* order(1, { duration_minutes: 60 })
        assert.deepStrictEqual([again.status, again.json.id], [200, id])
        assert.isAbove(Date.parse(again.json.expires_at), Date.parse(made.json.expires_at))
        const shorter = yield* order(1, { duration_minutes: 1 })
        assert.strictEqual(shorter.json.expires_at, again.json.expires_at)
        const found = yield* send("GET", `?client=02AC.0000.0001&status=active`)
        assert.deepStrictEqual(found.json.items.map((action: any) => action.id), [id])
        assert.deepStrictEqual((yield* send("DELETE", `/${id}`)).json, { success: true, id })
        assert.strictEqual((yield* send("GET", `/${id}`)).json.status, "removed")
        assert.deepStrictEqual((yield* send("DELETE", `/${id}`)).json, { success: true, id })
        assertProblem(yield* send("DELETE", "/nonsense"), 404, "not-found")
        const { items } = yield* (yield* AuditTrail).list({ limit: 100 })
        const operations = items.filter(({ target }) => target === id).map(({ operation }) => operation)
        assert.includeMembers(operations, ["actions.create", "actions.remove"])
      }))

    it.effect("refuses orders that say too little or too much", () =>
      Effect.gen(function*() {
        for (
          const fields of [
            { client_mac: undefined },
            { duid: "00010001" },
            { client_mac: undefined, duid: "000200000009aa" },
            { type: "tag" },
            { tag: "x" },
            { type: "explode" },
            { duration_minutes: 0 },
            { reason: undefined },
            { unknown: 1 }
          ]
        ) assertProblem(yield* order(2, fields), 400, "invalid-request")
        const tagged = yield* order(2, { client_mac: undefined, duid: "000200000009aa", type: "tag", tag: "iot" })
        assert.deepInclude(tagged.json, { client: "000200000009aa", client_mac: null, tag: "iot" })
      }))

    it.effect("spares the never-block list", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* post("/protected", { mac: mac(9), comment: "gateway" })).status, 201)
        assertProblem(yield* order(9), 400, "client-protected")
        assertProblem(yield* order(9, { type: "quarantine" }), 400, "client-protected")
        assert.strictEqual((yield* order(9, { type: "allow" })).status, 201)
        assert.deepStrictEqual((yield* send("DELETE", `/protected/${mac(9)}`)).json, { success: true, id: mac(9) })
        assertProblem(yield* send("DELETE", `/protected/${mac(9)}`), 404, "not-found")
        assert.strictEqual((yield* order(9)).status, 201)
      }))

    it.effect("panics: lifts everything and cancels the jobs", () =>
      Effect.gen(function*() {
        yield* order(30)
        yield* order(31, { type: "quarantine" })
        assertProblem(yield* send("DELETE", ""), 400, "invalid-request")
        const before = (yield* send("GET", "?status=active")).json.total
        const answer = yield* send("DELETE", "?all=true")
        assert.deepStrictEqual(answer.json, { success: true, removed_count: before, cancelled_jobs: 0 })
        assert.strictEqual((yield* send("GET", "?status=active")).json.total, 0)
      }))
  })
})

describe("the cap of blocks in an hour", () => {
  const limits = { protectedMacs: new Set([mac(9)]), blocksPerHour: 2, bulkMax: 10 }
  layer(Layer.provide(TestApi, Layer.succeed(ActionLimits, limits)))((it) => {
    it.effect("binds what begins, not what is prolonged or milder", () =>
      Effect.gen(function*() {
        assertProblem(yield* order(9), 400, "client-protected")
        assert.strictEqual((yield* order(1, { duration_minutes: 5 })).status, 201)
        assert.strictEqual((yield* order(2)).status, 201)
        const third = yield* order(3)
        assertProblem(third, 429, "blocks-exhausted")
        assert.strictEqual((yield* order(1)).status, 200)
        assert.strictEqual((yield* order(3, { type: "quarantine" })).status, 201)
      }))
  })
})

describe("cleanup of expired actions", () => {
  layer(TestApi)((it) => {
    it.effect("marks each once, and tells before it does", () =>
      Effect.gen(function*() {
        yield* order(40, { duration_minutes: 5 })
        yield* order(41, { duration_minutes: 5 })
        yield* order(42)
        const none = yield* send("POST", "/sync/cleanup")
        assert.deepStrictEqual([none.status, none.json], [
          200,
          { cleaned_count: 0, message: "No expired actions", success: true }
        ])
        yield* TestClock.adjust("6 minutes")
        const dry = yield* post("/sync/cleanup", { dry_run: true })
        assert.deepStrictEqual(dry.json, {
          cleaned_count: 0,
          message: "Would clean up 2 expired actions",
          success: true
        })
        const one = yield* post("/sync/cleanup", { limit: 1, anything: "else" })
        assert.deepStrictEqual(one.json, { cleaned_count: 1, message: "Cleaned up 1 expired action", success: true })
        assert.strictEqual((yield* post("/sync/cleanup", {})).json.cleaned_count, 1)
        assert.strictEqual((yield* post("/sync/cleanup", {})).json.cleaned_count, 0)
        assertProblem(yield* post("/sync/cleanup", { limit: 0 }), 400, "invalid-request")
        assertProblem(yield* post("/sync/cleanup", { dry_run: "yes" }), 400, "invalid-request")
        assertProblem(yield* callJson("POST", "/api/actions/sync/cleanup", {}), 401, "unauthenticated")
        const { token } = yield* Callers
        assertProblem(yield* callJson("POST", "/api/actions/sync/cleanup", {}, token.viewer), 403, "forbidden")
      }))
  })
})
