import { OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, TestClock } from "effect"
import { Api } from "../../src/api/Api.ts"
import { tokenByPassword } from "../../src/api/client.ts"
import { permissionsOf, type Role, roles } from "../../src/schema/Permission.ts"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers, passwordOf, TestApi } from "../support/testApi.ts"

/** What each operation asks of its caller: nothing, a session, or a permission. A new operation needs a line here. */
const asks: Readonly<Record<string, string>> = {
  "signIn.login": "public",
  "signIn.verifyMfa": "public",
  "account.me": "session",
  "account.logout": "session",
  "account.refresh": "session",
  "account.listSessions": "session",
  "account.endSession": "session",
  "account.changePassword": "session",
  "account.enrollMfa": "session",
  "account.confirmMfa": "session",
  "account.disableMfa": "session",
  "apiTokens.list": "session",
  "apiTokens.create": "session",
  "apiTokens.get": "session",
  "apiTokens.delete": "session",
  "users.list": "users:manage",
  "users.create": "users:manage",
  "users.get": "users:manage",
  "users.update": "users:manage",
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
  "automation.listWindows": "automation.rules:read",
  "automation.backfillRule": "automation.rules:run",
  "automation.scheduler": "automation.rules:read",
  "alarms.list": "automation.alarms:read",
  "alarms.get": "automation.alarms:read",
  "alarms.acknowledge": "automation.alarms:write",
  "alarms.resolve": "automation.alarms:write",
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
  "firewall.listConfigs": "nftables.configs:read",
  "firewall.createConfig": "nftables.configs:write",
  "firewall.getConfig": "nftables.configs:read",
  "firewall.updateConfig": "nftables.configs:write",
  "firewall.deleteConfig": "nftables.configs:apply",
  "firewall.listRevisions": "nftables.configs:read",
  "firewall.restoreRevision": "nftables.configs:write",
  "firewall.restoreConfig": "nftables.configs:write",
  "firewall.diffConfig": "nftables.configs:read",
  "firewall.exportConfig": "nftables.configs:read",
  "firewall.ruleset": "nftables.configs:read",
  "firewall.validate": "nftables.configs:validate",
  "firewall.applyConfig": "nftables.configs:apply",
  "firewall.confirmApply": "nftables.configs:apply",
  "firewall.extendApply": "nftables.configs:apply",
  "firewall.rollbackApply": "nftables.configs:apply",
  "ipRestrictions.create": "session",
  "ipRestrictions.check": "session",
  "ipRestrictions.ofUser": "session",
  "ipRestrictions.get": "session",
  "ipRestrictions.update": "session",
  "ipRestrictions.remove": "session",
  "user.settings": "session",
  "user.updateSettings": "session",
  "feedback.submit": "session",
  "feedback.list": "feedback:read",
  "audit.list": "audit:read",
  "audit.verify": "audit:read",
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

/** Operations after which the token of the request is dead. */
const spending = ["account.logout", "account.refresh"]

/** A token of the role that no operation before has spent. */
const aliveToken = Effect.fnUntraced(function*({ id }: Operation, role: Role) {
  const { anonymous, token } = yield* Callers
  if (!spending.includes(id)) return token[role]
  return yield* tokenByPassword(anonymous, { username: role, password: passwordOf(role) })
}, Effect.orDie)

const assertUnauthenticated = Effect.fnUntraced(function*(operation: Operation, options: Parameters<typeof send>[1]) {
  const answer = yield* send(operation, options)
  assertProblem(answer, 401, "unauthenticated")
  assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
})

/** Sessions that end soon: the clock of a test goes from one wake-up of the service to the next. */
const ShortSessions = TestApi.pipe(
  Layer.provide(
    Layer.effect(
      SignInLimits,
      Effect.map(SignInLimits, (limits) => ({
        ...limits,
        session: { ...limits.session, idle: Duration.minutes(3), expiresIn: Duration.minutes(6) }
      }))
    )
  )
)

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
        const alive = Redacted.value(yield* aliveToken(operation, "admin"))
        const lower = yield* send(operation, { authorization: `bearer ${alive}` })
        assert.notStrictEqual(lower.status, 401, operation.id)
      }
    }).pipe(Effect.provide(TestApi)))

  it.effect("refuse a token that was not used for the idle time", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.viewer })).status, 200)
      yield* TestClock.adjust("1 minutes")
      for (const operation of closed) yield* assertUnauthenticated(operation, { token: token.admin })
      yield* TestClock.adjust("1 minutes")
      assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.viewer })).status, 200)
    }).pipe(Effect.provide(ShortSessions)))

  it.effect("refuse a token that has expired, however much it is used", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      for (let minutes = 2; minutes < 6; minutes += 2) {
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual((yield* call("GET", "/api/auth/me", { token: token.admin })).status, 200)
      }
      yield* TestClock.adjust("2 minutes")
      for (const operation of closed) yield* assertUnauthenticated(operation, { token: token.admin })
    }).pipe(Effect.provide(ShortSessions)))

  for (const role of roles) {
    it.effect(`let ${role} do what the role permits and nothing else`, () =>
      Effect.gen(function*() {
        const permitted: ReadonlyArray<string> = permissionsOf(role)
        for (const operation of closed) {
          const permission = asks[operation.id]!
          const answer = yield* send(operation, { token: yield* aliveToken(operation, role) })
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
