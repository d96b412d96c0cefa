import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, TestClock } from "effect"
import { Draining } from "../../src/layers/http/Listener.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { openStream, type Reading } from "../support/sse.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const line = (n: number, hostname = `host-${n}`) =>
  JSON.stringify({
    event_time: "2096-02-01T12:00:00.000Z",
    protocol: "dhcpv4",
    message_type: "discover",
    client_mac: "02:bd:00:00:00:01",
    hostname,
    transaction_id: String(n)
  })

const ingest = Effect.fnUntraced(function*(...numbers: ReadonlyArray<number>) {
  const { token } = yield* Callers
  const answer = yield* call("POST", "/api/dhcp/events", {
    token: token.operator,
    body: numbers.map((n) => line(n)).join("\n"),
    headers: { "content-type": "application/x-ndjson" }
  })
  assert.strictEqual(answer.json.accepted, numbers.length, answer.text)
})

const open = (options: Partial<Parameters<typeof openStream>[0]> = {}) =>
  Effect.flatMap(Callers, ({ token }) => openStream({ token: token.viewer, ...options }))

/** The numbers of the next events. */
const take = (stream: Reading, count: number) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Effect.map(stream.next, ({ data, event }) => {
      assert.strictEqual(event, "dhcp")
      return Number(data.transaction_id)
    }))

const createFilter = Effect.fnUntraced(function*(hostname: string) {
  const { token } = yield* Callers
  const rules = { rules: [{ field: "hostname", op: "eq", value: hostname }] }
  const { json } = yield* callJson("POST", "/api/dhcp-filters", { name: "x", rules }, token.viewer)
  return json.id as string
})

const test = (name: string, effect: Effect.Effect<unknown, never, any>) =>
  it.scoped(name, () => Effect.provide(effect, TestApi) as Effect.Effect<unknown>)

describe("the stream of DHCP events", () => {
  test(
    "tells every event that comes in, as it is listed, to all who are there",
    Effect.gen(function*() {
      yield* ingest(0)
      const streams = yield* Effect.forEach([1, 2, 3], () => open())
      yield* ingest(1, 2)
      yield* ingest(3)
      const { client } = yield* Callers
      const { items } = yield* Effect.orDie(client.viewer.dhcpEvents.list({ urlParams: { limit: 10 } }))
      const listed = items.map((item) => ({ ...item })).reverse().slice(1)
      for (const stream of streams) {
        const told = [yield* stream.next, yield* stream.next, yield* stream.next]
        assert.deepStrictEqual(told.map(({ data }) => data), listed)
        assert.deepStrictEqual(told.map(({ id }) => id), ["2-0", "2-1", "3-0"])
      }
    })
  )

  test(
    "goes on where it was left, by the id of an event or of a heartbeat",
    Effect.gen(function*() {
      const first = yield* open()
      const beginning = first.lastId()
      yield* ingest(1, 2, 3)
      assert.deepStrictEqual(yield* take(first, 2), [1, 2])
      const left = first.lastId()
      yield* first.close
      yield* ingest(4)
      const second = yield* open({ lastEventId: left })
      assert.deepStrictEqual(yield* take(second, 2), [3, 4])
      yield* ingest(5)
      assert.deepStrictEqual(yield* take(second, 1), [5])
      yield* TestClock.adjust("16 seconds")
      const beat = yield* second.frame
      assert.deepInclude(beat, { comment: "heartbeat", data: undefined, event: undefined })
      const third = yield* open({ lastEventId: beat.id! })
      const all = yield* open({ lastEventId: beginning })
      yield* ingest(6)
      assert.deepStrictEqual(yield* take(third, 1), [6])
      assert.deepStrictEqual(yield* take(all, 6), [1, 2, 3, 4, 5, 6])
    })
  )

  test(
    "begins anew where the position is not known, and refuses what is none",
    Effect.gen(function*() {
      const { token } = yield* Callers
      yield* ingest(1)
      const stream = yield* open({ lastEventId: "999-7" })
      const reset = yield* stream.next
      assert.strictEqual(reset.event, "reset")
      assert.strictEqual(reset.data.resumed_at, "1")
      yield* ingest(2)
      assert.deepStrictEqual(yield* take(stream, 1), [2])
      for (const wrong of ["x", "1-", "-1", "1-2-3", "01", "9".repeat(30), "1-99999999999"]) {
        const refused = yield* call("GET", "/api/dhcp/stream", {
          token: token.viewer,
          headers: { "last-event-id": wrong }
        })
        const { errors } = assertProblem(refused, 400, "invalid-request")
        assert.deepInclude(errors[0], { in: "headers", pointer: "/last-event-id" })
      }
    })
  )

  test(
    "is filtered by a filter of its user, follows its change, and ends when it is deleted",
    Effect.gen(function*() {
      const { token } = yield* Callers
      const filterId = yield* createFilter("host-2")
      for (const unknown of ["7d4c1a0e-0000-4000-8000-000000000000", "nonsense"]) {
        const answer = yield* call("GET", `/api/dhcp/stream?filter_id=${unknown}`, { token: token.viewer })
        assertProblem(answer, 404, "not-found")
      }
      const foreign = yield* call("GET", `/api/dhcp/stream?filter_id=${filterId}`, { token: token.admin })
      assertProblem(foreign, 404, "not-found")

      const filtered = yield* open({ filterId })
      const whole = yield* open()
      yield* ingest(1, 2, 3)
      assert.deepStrictEqual(yield* take(filtered, 1), [2])
      assert.deepStrictEqual(yield* take(whole, 3), [1, 2, 3])
      const resumed = yield* open({ filterId, lastEventId: "0" })
      assert.deepStrictEqual(yield* take(resumed, 1), [2])

      const rules = { rules: [{ field: "hostname", op: "eq", value: "HOST-3" }] }
      yield* callJson("PUT", `/api/dhcp-filters/${filterId}`, rules, token.viewer)
      yield* TestClock.adjust("1 seconds")
      for (const stream of [filtered, resumed]) {
        const changed = yield* stream.next
        assert.strictEqual(changed.event, "filter")
        assert.deepInclude(changed.data, { id: filterId, revision: 2, rules: { match: "all", ...rules } })
      }
      yield* ingest(2, 3)
      assert.deepStrictEqual(yield* take(filtered, 1), [3])
      assert.deepStrictEqual(yield* take(resumed, 1), [3])

      yield* call("DELETE", `/api/dhcp-filters/${filterId}`, { token: token.viewer })
      yield* TestClock.adjust("1 seconds")
      for (const stream of [filtered, resumed]) {
        const end = yield* stream.next
        assert.deepStrictEqual([end.event, end.data], ["end", { reason: "filter_deleted" }])
        yield* Deferred.await(stream.ended)
      }
      yield* ingest(7)
      assert.deepStrictEqual(yield* take(whole, 3), [2, 3, 7])
    })
  )

  test(
    "is open so many times for a user, and again once one is closed",
    Effect.gen(function*() {
      const { token } = yield* Callers
      const streams = yield* Effect.forEach(Array.from({ length: 10 }), () => open())
      const refused = yield* call("GET", "/api/dhcp/stream", { token: token.viewer })
      assert.strictEqual(assertProblem(refused, 429, "stream-limit").retry_after, 5)
      assert.strictEqual(refused.headers["retry-after"], "5")
      const other = yield* open({ token: token.auditor })
      yield* streams[3]!.close
      const again = yield* Effect.eventually(open())
      yield* ingest(1)
      for (const stream of [other, again, streams[0]!]) assert.deepStrictEqual(yield* take(stream, 1), [1])
    })
  )

  test(
    "ends with its session, with its token, and where the address is refused",
    Effect.gen(function*() {
      const { client, token } = yield* Callers
      const login = yield* call("POST", "/api/auth/login", {
        body: JSON.stringify({ username: "viewer", password: "the password of viewer" }),
        headers: { "content-type": "application/json" }
      })
      const session = Redacted.make<string>(login.json.token)
      const scoped = { name: "x", scopes: ["dhcp.events:read"], expiresAt: "2096-02-02T00:00:20.000Z" }
      const made = yield* callJson("POST", "/api/auth/tokens", scoped, token.operator)
      assert.strictEqual(made.status, 201, made.text)
      const api = Redacted.make<string>(made.json.token)
      const streams = {
        session: yield* open({ token: session }),
        token: yield* open({ token: api }),
        address: yield* open({ token: token.auditor, headers: { "x-test-address": "192.0.2.7" } }),
        other: yield* open()
      }
      yield* callJson("POST", "/api/auth/logout", {}, session)
      yield* TestClock.adjust("1 seconds")
      const reason = (stream: Reading) =>
        Effect.gen(function*() {
          const { data, event } = yield* stream.next
          assert.strictEqual(event, "end")
          yield* Deferred.await(stream.ended)
          return data.reason as string
        })
      assert.strictEqual(yield* reason(streams.session), "session_ended")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* reason(streams.token), "session_ended")
      const restriction = { type: "deny" as const, network: "192.0.2.0/24", force: true }
      const denied = yield* callJson("POST", "/api/ip-restrictions", restriction, token.auditor)
      assert.strictEqual(denied.status, 201, denied.text)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* reason(streams.address), "ip_restricted")
      yield* ingest(1)
      assert.deepStrictEqual(yield* take(streams.other, 1), [1])
      assert.isDefined(client)
    })
  )

  test(
    "ends when the service stops",
    Effect.gen(function*() {
      const stream = yield* open()
      yield* ingest(1)
      const told = yield* Effect.fork(Effect.all([stream.next, stream.next]))
      yield* Deferred.succeed(yield* Draining, undefined)
      const [first, second] = yield* Fiber.join(told)
      assert.strictEqual(first.event, "dhcp")
      assert.deepStrictEqual([second.event, second.data], ["end", { reason: "shutdown" }])
      yield* Deferred.await(stream.ended)
      const late = yield* open()
      assert.strictEqual((yield* late.next).event, "end")
    })
  )
})
