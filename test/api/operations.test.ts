import { OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, TestClock } from "effect"
import { Api } from "../../src/api/Api.ts"
import { permissionsOf, roles } from "../../src/schema/Permission.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

/** What each operation asks of its caller: nothing, a session, or a permission. A new operation needs a line here. */
const asks: Readonly<Record<string, string>> = {
  "signIn.login": "public",
  "account.me": "session",
  "dhcpEvents.ingest": "dhcp.events:ingest",
  "dhcpEvents.list": "dhcp.events:read",
  "automation.listRules": "automation.rules:read",
  "automation.createRule": "automation.rules:write",
  "automation.testPreview": "automation.rules:preview",
  "automation.getRule": "automation.rules:read",
  "automation.updateRule": "automation.rules:write",
  "automation.deleteRule": "automation.rules:write",
  "automation.runRule": "automation.rules:run",
  "automation.listRuns": "automation.rules:read",
  "actions.list": "actions:read",
  "actions.get": "actions:read",
  "actions.create": "actions:write",
  "actions.remove": "actions:write",
  "actions.removeAll": "actions:write",
  "actions.listProtected": "actions:read",
  "actions.protect": "actions:write",
  "actions.unprotect": "actions:write",
  "actions.cleanup": "actions.sync:cleanup",
  "bulk.preview": "actions.bulk:preview",
  "bulk.execute": "actions.bulk:execute",
  "bulk.listJobs": "actions:read",
  "bulk.getJob": "actions:read",
  "bulk.listItems": "actions:read",
  "bulk.jobEvents": "actions:read",
  "bulk.cancel": "actions.bulk:execute",
  "bulk.undo": "actions.bulk:execute",
  "firewallEvents.ingest": "firewall.events:ingest",
  "metrics.alarmStats": "metrics:read",
  "metrics.uniqueIps": "metrics:read",
  "metrics.inboundOutboundRatio": "metrics:read",
  "retention.config": "config.retention:read",
  "retention.change": "config.retention:write",
  "health.live": "public",
  "health.ready": "public",
  "health.problem": "public",
  "operations.metrics": "metrics:read"
}

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly contentType: string | undefined
  readonly permission: string | undefined
  readonly security: ReadonlyArray<unknown>
}

const operations = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, item]) =>
  Object.entries<any>(item).map(([method, operation]): Operation => ({
    id: operation.operationId,
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/g, "7d4c1a0e-0000-4000-8000-000000000000"),
    contentType: Object.keys(operation.requestBody?.content ?? {})[0],
    permission: operation["x-permission"],
    security: operation.security
  }))
)
const closed = operations.filter(({ id }) => asks[id] !== "public")

const send = (operation: Operation, options: { token?: Redacted.Redacted; authorization?: string } = {}) =>
  call(operation.method, operation.path, {
    token: options.token,
    ...(operation.contentType === undefined ? {} : { body: "{}" }),
    headers: {
      ...(operation.contentType === undefined ? {} : { "content-type": operation.contentType }),
      ...(options.authorization === undefined ? {} : { authorization: options.authorization })
    }
  })

const assertUnauthenticated = Effect.fnUntraced(function*(operation: Operation, options: Parameters<typeof send>[1]) {
  const answer = yield* send(operation, options)
  assertProblem(answer, 401, "unauthenticated")
  assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
})

describe("operations", () => {
  it("each have a line in the table, and the document says the same", () => {
    assert.deepStrictEqual(operations.map(({ id }) => id).sort(), Object.keys(asks).sort())
    for (const { id, permission, security } of operations) {
      assert.deepStrictEqual(security, asks[id] === "public" ? [] : [{ bearer: [] }], id)
      assert.strictEqual(permission, asks[id]!.includes(":") ? asks[id] : undefined, id)
    }
  })

  it.effect("answer without a token where they are public", () =>
    Effect.gen(function*() {
      for (const operation of operations.filter(({ id }) => asks[id] === "public")) {
        assert.notInclude([401, 403], (yield* send(operation)).status, operation.id)
      }
      assert.strictEqual((yield* call("GET", "/openapi.json")).status, 200)
      assert.strictEqual((yield* call("GET", "/docs")).status, 200)
    }).pipe(Effect.provide(TestApi)))

  it.effect("refuse to answer without a token that is valid", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const right = Redacted.value(token.admin)
      const wrong = [
        "Bearer x",
        "Bearer",
        "Basic YWRtaW46YWRtaW4=",
        `Basic  ${right}`,
        `Tokens ${right}`,
        right,
        `Bearer ${right}x`,
        `Bearer ${right.slice(0, -1)}${right.endsWith("A") ? "B" : "A"}`,
        `Bearer nop_s_${"A".repeat(43)}`,
        `Bearer nop_s_${"A".repeat(100_000)}`
      ]
      for (const operation of closed) {
        yield* assertUnauthenticated(operation, {})
        for (const authorization of wrong) yield* assertUnauthenticated(operation, { authorization })
        const lower = yield* send(operation, { authorization: `bearer ${right}` })
        assert.notStrictEqual(lower.status, 401, operation.id)
      }
    }).pipe(Effect.provide(TestApi)))

  it.effect("refuse a token that was not used for half an hour", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      yield* TestClock.adjust("29 minutes")
      assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.viewer })).status, 200)
      yield* TestClock.adjust("1 minutes")
      for (const operation of closed) yield* assertUnauthenticated(operation, { token: token.admin })
      yield* TestClock.adjust("28 minutes")
      assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.viewer })).status, 200)
    }).pipe(Effect.provide(TestApi)))

  it.effect("refuse a token after an hour, however much it is used", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      for (let minutes = 20; minutes < 60; minutes += 20) {
        yield* TestClock.adjust("20 minutes")
        assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.admin })).status, 200)
      }
      yield* TestClock.adjust("20 minutes")
      for (const operation of closed) yield* assertUnauthenticated(operation, { token: token.admin })
    }).pipe(Effect.provide(TestApi)))

  for (const role of roles) {
    it.effect(`let ${role} do what the role permits and nothing else`, () =>
      Effect.gen(function*() {
        const { token } = yield* Callers
        const permitted: ReadonlyArray<string> = permissionsOf(role)
        for (const operation of closed) {
          const permission = asks[operation.id]!
          const answer = yield* send(operation, { token: token[role] })
          if (permission === "session" || permitted.includes(permission)) {
            assert.notInclude([401, 403], answer.status, operation.id)
            assert.isBelow(answer.status, 500, operation.id)
          } else {
            assert.strictEqual(assertProblem(answer, 403, "forbidden").permission, permission, operation.id)
          }
        }
      }).pipe(Effect.provide(TestApi)))
  }
})
