import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { LogPipelineLive } from "../../src/services/LogPipeline.ts"
import { Dispatcher, DispatcherLive } from "../../src/services/notify/Dispatcher.ts"
import { Sender, SenderLive } from "../../src/services/notify/Sender.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { arrived } from "../layers/NotificationsMemory.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { beginning, Callers, type Ports, TestApi } from "../support/testApi.ts"

const rules = "/api/notifications/rules"
const silences = "/api/notifications/silences"
const channel = "/api/notifications/channels/log-pipeline"
const unknownId = "7d4c1a0e-0000-4000-8000-000000000000"

/** The API with the loops at hand, over the same ports. */
const Notified = Layer.provideMerge(
  Layer.provideMerge(Layer.merge(DispatcherLive, SenderLive), Layer.orDie(LogPipelineLive)),
  TestApi
) as Layer.Layer<Layer.Layer.Success<typeof TestApi> | Ports | Dispatcher | Sender>

/** A second of the loops for each of so many. */
const run = Effect.fnUntraced(function*(seconds: number) {
  const [dispatcher, sender] = [yield* Dispatcher, yield* Sender]
  for (let second = 0; second < seconds; second++) {
    yield* dispatcher.step
    yield* sender.pass
    yield* TestClock.adjust("1 second")
  }
})

const publish = (message: string, severity: "info" | "critical" = "info") =>
  Effect.flatMap(
    ServiceEvents,
    ({ publish }) =>
      publish([{ type: "notification.test", subject: `s/${message}`, severity, time: beginning, data: { message } }])
  )

const messagesAt = (uri: string) =>
  arrived.filter((each) => each.uri === uri).flatMap(({ records }) => records)
    .map(({ json }) => JSON.parse(json) as { data: { message: string }; notification: { reason: string } })

const configure = (uri: string, more: object = {}) =>
  Effect.flatMap(
    Callers,
    ({ token }) => callJson("PUT", channel, { type: "http", uri, batch: { timeout_secs: 0 }, ...more }, token.operator)
  )

describe("notifications over HTTP", () => {
  it.effect("rules are made, switched, changed under their ETag, and deleted", () =>
    Effect.gen(function*() {
      const { token: { operator: token } } = yield* Callers
      const made = yield* callJson("POST", rules, { name: "a", group_by: ["client"] }, token)
      assert.strictEqual(made.status, 201)
      const { id } = made.json
      assert.deepInclude(made.json, {
        enabled: true,
        group_wait: "30s",
        group_interval: "5m",
        repeat_interval: "4h",
        send_resolved: true,
        channel: "log-pipeline"
      })
      const path = `${rules}/${id}`
      assert.strictEqual(made.headers["location"], path)
      const off = yield* call("POST", `${path}/disable`, { token })
      assert.deepInclude(off.json, { id, enabled: false, status: "success" })
      const on = yield* callJson("POST", `${path}/enable`, {}, token)
      assert.deepStrictEqual(on.json, {
        id,
        enabled: true,
        status: "success",
        message: "The notification rule a is enabled"
      })
      assert.isTrue((yield* call("GET", path, { token })).json.enabled)
      const stale = { headers: { "if-match": made.headers["etag"]! }, token }
      assertProblem(
        yield* call("PUT", path, { ...stale, body: JSON.stringify({ name: "b" }) }),
        412,
        "precondition-failed"
      )
      assert.strictEqual((yield* callJson("PUT", path, { name: "b" }, token)).json.name, "b")
      for (
        const wrong of [{ name: "" }, { name: "x", group_wait: "fast" }, { name: "x", event_types: ["no"] }, {
          name: "x",
          surprise: 1
        }]
      ) {
        assertProblem(yield* callJson("POST", rules, wrong, token), 400, "invalid-request")
      }
      assert.deepStrictEqual((yield* call("DELETE", path, { token })).json, {
        message: "The notification rule b is deleted",
        status: "success"
      })
      for (const gone of [path, `${rules}/x`, `${rules}/${unknownId}`]) {
        assertProblem(yield* call("DELETE", gone, { token }), 404, "not-found")
        assertProblem(yield* callJson("POST", `${gone}/enable`, {}, token), 404, "not-found")
      }
    }).pipe(Effect.provide(Notified)))

  it.effect("a channel that is refused leaves the one before, and says why", () =>
    Effect.gen(function*() {
      const { token: { viewer } } = yield* Callers
      assertProblem(
        yield* Effect.flatMap(Callers, ({ token }) => call("POST", `${channel}/test`, { token: token.operator })),
        400,
        "channel-not-configured"
      )
      const first = yield* configure("https://one.example/", {
        auth: { strategy: "basic", user: "u", password: "p4ss" },
        request: { headers: { "X-Key": "k3y" } }
      })
      assert.deepStrictEqual(Object.keys(first.json).sort(), ["message", "status"])
      const refused = yield* configure("https://down.example/")
      assert.include(assertProblem(refused, 400, "channel-rejected").detail, "ECONNREFUSED")
      const read = yield* call("GET", channel, { token: viewer })
      assert.strictEqual(read.json.config.uri, "https://one.example/")
      assert.deepInclude(read.json.last_error, { kind: "reload", message: "/uri: down.example: ECONNREFUSED" })
      assert.notInclude(read.text, "p4ss")
      assert.notInclude(read.text, "k3y")
      // What was read can be sent back, but its secrets go nowhere else.
      const again = yield* configure("https://one.example/", {
        auth: read.json.config.auth,
        request: read.json.config.request
      })
      assert.strictEqual(again.status, 200)
      const elsewhere = yield* configure("https://two.example/", { auth: read.json.config.auth })
      assert.strictEqual(assertProblem(elsewhere, 400, "channel-rejected").errors[0].pointer, "/auth/password")
      for (
        const uri of [
          "http://127.0.0.1/",
          "http://2130706433/",
          "http://[::1]/",
          "ftp://one.example/",
          "http://u:p@one.example/"
        ]
      ) {
        assert.strictEqual(assertProblem(yield* configure(uri), 400, "channel-rejected").errors[0].pointer, "/uri", uri)
      }
      assertProblem(yield* configure("https://one.example/", { endpoint: 1 }), 400, "invalid-request")
      assert.strictEqual((yield* call("GET", channel, { token: viewer })).json.revision, 2)
    }).pipe(Effect.provide(Notified)))

  it.effect("events go through rule, silence and channel, each once", () =>
    Effect.gen(function*() {
      const { token: { operator: token } } = yield* Callers
      const uri = "https://flow.example/"
      yield* configure(uri)
      yield* callJson(
        "POST",
        rules,
        { name: "r", min_severity: "critical", group_wait: "2s", group_interval: "5s" },
        token
      )
      yield* publish("low")
      yield* publish("one", "critical")
      yield* run(2)
      assert.deepStrictEqual(messagesAt(uri), [])
      yield* run(3)
      assert.deepStrictEqual(messagesAt(uri).map(({ data }) => data.message), ["one"])
      const silence = yield* callJson("POST", silences, {
        matchers: { rules: [{ field: "subject", op: "eq", value: "s/quiet" }] },
        comment: "maintenance",
        ends_at: "2096-02-03T00:00:00Z"
      }, token)
      assert.strictEqual(silence.status, 201)
      assert.strictEqual(silence.json.status, "active")
      yield* publish("quiet", "critical")
      yield* publish("two", "critical")
      yield* run(8)
      assert.deepStrictEqual(messagesAt(uri).map(({ data }) => data.message), ["one", "two"])
      const previewed = yield* callJson("POST", "/api/notifications/preview", {
        rule: { name: "p", min_severity: "critical", group_by: ["subject"] }
      }, token)
      assert.deepInclude(previewed.json, { examined: 4, matched: 3, silenced: 1 })
      assert.lengthOf(previewed.json.groups, 3)
      assert.isTrue((yield* call("DELETE", `${silences}/${silence.json.id}`, { token })).json.success)
      assert.strictEqual((yield* call("GET", silences, { token })).json.items[0].status, "expired")
      assertProblem(
        yield* callJson(
          "POST",
          silences,
          { matchers: { rules: [] }, comment: "c", ends_at: "2096-02-03T00:00:00Z" },
          token
        ),
        400,
        "invalid-request"
      )
      const late = {
        matchers: { rules: [{ field: "subject", op: "exists" }] },
        comment: "c",
        ends_at: "2001-01-01T00:00:00Z"
      }
      assertProblem(yield* callJson("POST", silences, late, token), 400, "silence-over")
    }).pipe(Effect.provide(Notified)))

  it.effect("what the receiver refuses alone is dead after its tries, and can be sent again", () =>
    Effect.gen(function*() {
      const { token: { operator: token } } = yield* Callers
      const uri = "https://picky.example/"
      yield* configure(uri, { request: { retry_attempts: 2 } })
      yield* callJson("POST", rules, { name: "r", group_wait: "0s", group_interval: "1s", group_by: ["..."] }, token)
      for (const message of ["a", "poison", "b", "c"]) yield* publish(message)
      yield* run(10)
      assert.sameMembers(messagesAt(uri).map(({ data }) => data.message), ["a", "b", "c"])
      const dead = yield* call("GET", "/api/notifications/deliveries?status=dead", { token })
      assert.strictEqual(dead.json.total, 1)
      assert.deepInclude(dead.json.items[0], { attempts: 2, last_error: "picky.example answered 422" })
      assert.deepInclude((yield* call("GET", channel, { token })).json, {
        queued: 0,
        delivered: 3,
        dead: 1,
        dropped: 0
      })
      const path = `/api/notifications/deliveries/${dead.json.items[0].id}/retry`
      yield* configure("https://flow2.example/")
      assert.deepInclude((yield* call("POST", path, { token })).json, { status: "pending", attempts: 0 })
      yield* run(3)
      assert.deepStrictEqual(messagesAt("https://flow2.example/").map(({ data }) => data.message), ["poison"])
      assertProblem(yield* call("POST", path, { token }), 400, "delivery-done")
      assertProblem(
        yield* call("POST", `/api/notifications/deliveries/${unknownId}/retry`, { token }),
        404,
        "not-found"
      )
    }).pipe(Effect.provide(Notified)))

  it.effect("events of sign-in are for those who may read the audit trail", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const login = callJson("POST", "/api/auth/login", { username: "viewer", password: "wrong" })
      for (let tries = 0; tries < 5; tries++) yield* login
      const of = (role: "viewer" | "auditor") =>
        Effect.map(call("GET", "/api/events?type=auth.login.locked", { token: token[role] }), ({ json }) => json.total)
      assert.strictEqual(yield* of("auditor"), 1)
      assert.strictEqual(yield* of("viewer"), 0)
    }).pipe(Effect.provide(Notified)))
})
