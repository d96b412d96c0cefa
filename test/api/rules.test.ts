import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Schema, TestClock } from "effect"
import { AutomationRuleAnswer, RuleDraft } from "../../src/schema/AutomationRule.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { AutomationState } from "../layers/AutomationState.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { ruleDraft } from "../support/arbitraries/rule.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const path = "/api/automation/rules"
const plain = Schema.decodeUnknownSync(RuleDraft)({ name: "plain", threshold: { min_requests: 2 } })
const encodeAnswer = Schema.encodeSync(AutomationRuleAnswer)
const missingIds = ["7d4c1a0e-0000-4000-8000-000000000000", "x", "__proto__", "%00", "a".repeat(100), "..%2f"]

layer(TestApi)("rules", (it) => {
  it.effect.prop(
    "are given back as they were stated",
    { first: ruleDraft, second: ruleDraft },
    ({ first, second }) =>
      Effect.gen(function*() {
        const { client } = yield* Callers
        const { automation } = client.operator
        const created = yield* automation.createRule({ payload: first })
        assert.deepInclude(created, { ...first, revision: 1 })
        assert.deepStrictEqual(yield* automation.getRule({ path: { id: created.id } }), created)
        const updated = yield* automation.updateRule({ path: { id: created.id }, payload: second })
        assert.deepInclude(updated, { ...second, id: created.id, revision: 2, created_at: created.created_at })
        for (const key of Object.keys(first)) if (!(key in second)) assert.notProperty(updated, key)
        const read = yield* client.viewer.automation.getRule({ path: { id: created.id } })
        assert.deepStrictEqual(encodeAnswer(read), encodeAnswer(updated))
        assert.deepStrictEqual(yield* automation.deleteRule({ path: { id: created.id } }), {
          success: true,
          id: created.id
        })
        const gone = yield* Effect.flip(automation.getRule({ path: { id: created.id } }))
        assert.strictEqual(gone._tag, "NotFound")
        const again = yield* Effect.flip(automation.deleteRule({ path: { id: created.id } }))
        assert.strictEqual(again._tag, "NotFound")
      }),
    { fastCheck: { numRuns: 25 } }
  )

  it.effect("are created with their address", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const answer = yield* callJson("POST", path, { name: "new", threshold: { min_requests: 2 } }, token.operator)
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers["location"], `${path}/${answer.json.id}`)
      const read = yield* call("GET", answer.headers["location"]!, { token: token.viewer })
      assert.deepStrictEqual(read.json, answer.json)
      assert.deepStrictEqual(answer.json.warnings, [])
    }))

  it.effect("that don't exist are answered alike, whatever the id", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const body = { name: "n", threshold: { min_requests: 1 } }
      for (const id of missingIds) {
        const answers = [
          yield* call("GET", `${path}/${id}`, { token: token.operator }),
          yield* callJson("PUT", `${path}/${id}`, body, token.operator),
          yield* call("DELETE", `${path}/${id}`, { token: token.operator }),
          yield* call("POST", `${path}/${id}/run`, { token: token.operator }),
          yield* call("GET", `${path}/${id}/runs`, { token: token.operator })
        ]
        for (const answer of answers) {
          assert.strictEqual(assertProblem(answer, 404, "not-found").detail, "There is no such rule")
        }
        const action = yield* call("GET", `/api/actions/${id}`, { token: token.operator })
        assert.strictEqual(assertProblem(action, 404, "not-found").detail, "There is no such action")
      }
      for (const long of ["a".repeat(101), "a".repeat(5000)]) {
        assertProblem(yield* call("GET", `${path}/${long}`, { token: token.operator }), 404, "not-found")
      }
    }))
})

describe("a preview", () => {
  it.effect("answers exactly these keys", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { append } = yield* DhcpEvents
      const event = {
        event_time: "2096-02-01T23:59:00.000Z",
        protocol: "dhcpv6",
        message_type: "solicit",
        duid: "000200000009aabb",
        assigned_ip: "2001:db8::1"
      }
      yield* append({ number: 1, events: [event as never] })
      const answer = yield* callJson(
        "POST",
        `${path}/test-preview`,
        { name: "n", threshold: { min_requests: 1 } },
        token.viewer
      )
      assert.strictEqual(answer.status, 200, answer.text)
      assert.hasAllKeys(answer.json, ["status", "data"])
      assert.strictEqual(answer.json.status, "success")
      assert.hasAllKeys(answer.json.data, ["DetectedMacs", "TotalCount", "Query", "QueryParams", "ExecutionTimeMs"])
      assert.deepStrictEqual(answer.json.data.DetectedMacs, [
        { MAC: "", DUID: "000200000009aabb", TotalRequests: 1, UniqueIPs: 1, Protocol: "dhcpv6" }
      ])
      const { client } = yield* Callers
      assert.strictEqual((yield* client.viewer.automation.listRules({ urlParams: { limit: 1 } })).total, 0)
    }).pipe(Effect.provide(TestApi)))
})

/** Follows `next` to the end. */
const walk = <A, E, R>(
  page: (
    cursor: string | undefined
  ) => Effect.Effect<{ readonly items: ReadonlyArray<A>; readonly next: string | null }, E, R>
) =>
  Effect.gen(function*() {
    const items: Array<A> = []
    let cursor: string | undefined
    do {
      const { items: more, next } = yield* page(cursor)
      items.push(...more)
      cursor = next ?? undefined
    } while (cursor !== undefined)
    return items
  })

layer(TestApi)("pages", (it) => {
  it.effect.prop("visit all rules once, newest first", {
    count: fc.nat(12),
    limit: fc.integer({ min: 1, max: 5 }),
    apart: fc.boolean()
  }, ({
    apart,
    count,
    limit
  }) =>
    Effect.gen(function*() {
      const { client } = yield* Callers
      ;(yield* AutomationState).rules.clear()
      const created: Array<string> = []
      for (let i = 0; i < count; i++) {
        created.unshift((yield* client.operator.automation.createRule({ payload: plain })).id)
        if (apart) yield* TestClock.adjust("1 millis")
      }
      const rules = yield* walk((cursor) => client.viewer.automation.listRules({ urlParams: { limit, cursor } }))
      const ids = rules.map(({ id }) => id as string)
      if (apart) assert.deepStrictEqual(ids, created)
      else assert.sameMembers(ids, created)
      assert.strictEqual(new Set(ids).size, count)
    }), { fastCheck: { numRuns: 15 } })

  it.effect.prop("visit all events once, newest first", {
    events: fc.array(dhcpEvent, { maxLength: 25 }),
    limit: fc.integer({ min: 1, max: 7 })
  }, ({ events, limit }) =>
    Effect.gen(function*() {
      const { client } = yield* Callers
      const range = { start: "2000-01-01T00:00:00.000Z", end: "2106-01-01T00:00:00.000Z" }
      const all = () => walk((cursor) => client.viewer.dhcpEvents.list({ urlParams: { limit, cursor, ...range } }))
      const before = (yield* all()).length
      yield* (yield* DhcpEvents).append({ number: before + 1, events })
      const seen = yield* all()
      assert.strictEqual(seen.length, before + events.length)
      assert.strictEqual(new Set(seen.map(({ id }) => id)).size, seen.length)
      const times = seen.map(({ event_time }) => event_time)
      assert.deepStrictEqual(times, [...times].sort().reverse())
      const counted = yield* client.viewer.dhcpEvents.list({ urlParams: { limit: 1, ...range, count: "true" } })
      assert.strictEqual(counted.total, seen.length)
    }), { fastCheck: { numRuns: 10 } })

  it.effect("are asked for by limits and cursors that there are", () =>
    Effect.gen(function*() {
      const { client, token } = yield* Callers
      const rule = yield* client.operator.automation.createRule({ payload: plain })
      for (const list of [path, `${path}/${rule.id}/runs`, "/api/actions", "/api/dhcp/events"]) {
        for (const cursor of ["x", "W10", "WzEsMl0", "eyJhIjoxfQ", "%00", "a".repeat(600)]) {
          const body = assertProblem(
            yield* call("GET", `${list}?cursor=${cursor}`, { token: token.viewer }),
            400,
            "invalid-request"
          )
          assert.deepInclude(body.errors[0], { in: "query", pointer: "/cursor" })
        }
        for (const limit of ["0", "-1", "1001", "1.5", "x", "1e9", ""]) {
          const body = assertProblem(
            yield* call("GET", `${list}?limit=${limit}`, { token: token.viewer }),
            400,
            "invalid-request"
          )
          assert.deepInclude(body.errors[0], { in: "query", pointer: "/limit" })
        }
        const page = yield* call("GET", `${list}?limit=1000`, { token: token.viewer })
        assert.strictEqual(page.status, 200)
        assert.hasAllKeys(page.json, ["items", "total", "next"])
      }
    }))

  it.effect("of events are of a range that there is", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const events = (query: string) => call("GET", `/api/dhcp/events?${query}`, { token: token.viewer })
      const backwards = yield* events("start=2096-01-02T00:00:00Z&end=2096-01-01T00:00:00Z")
      assert.strictEqual(assertProblem(backwards, 400, "invalid-request").errors[0].pointer, "/start")
      const bad = yield* events("start=yesterday&end=&count=yes&filter=%7B")
      assert.sameMembers(
        assertProblem(bad, 400, "invalid-request").errors.map((error: { pointer: string }) => error.pointer),
        ["/start", "/end", "/count", "/filter"]
      )
      const filter = encodeURIComponent(JSON.stringify({ rules: [{ field: "hostnme", op: "eq", value: "x" }] }))
      const unknown = assertProblem(yield* events(`filter=${filter}`), 400, "invalid-request")
      assert.strictEqual(unknown.errors[0].pointer, "/filter/rules/0/field")
      assert.strictEqual((yield* events("")).json.total, null)
    }))
})
