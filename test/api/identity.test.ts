import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted, TestClock } from "effect"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { totpCode } from "../../src/services/Totp.ts"
import { signInTiming, TimingPorts } from "../contract/SignInTiming.ts"
import { assertProblem, call, callJson } from "../support/client.ts"
import { Callers, passwordOf, TestApi, testApi } from "../support/testApi.ts"

const login = (username: string, password: string) => callJson("POST", "/api/auth/login", { username, password })

const me = (token: Redacted.Redacted) => call("GET", "/api/auth/me", { token })

const codeOf = (secret: string) => Effect.map(Clock.currentTimeMillis, (now) => totpCode(Redacted.make(secret), now))

const roomy = (failures: number, requests = 6000) =>
  Layer.effect(
    SignInLimits,
    Effect.map(SignInLimits, (limits) => ({
      ...limits,
      lockout: { ...limits.lockout, max: failures },
      address: { ...limits.address, max: 1_000_000 },
      requests: { ...limits.requests, max: requests }
    }))
  )

describe("identity over HTTP", () => {
  it.effect("a second factor is enrolled, asked for, accepted once and removed", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const offer = yield* call("POST", "/api/auth/mfa/enroll", { token: token.viewer })
      assert.match(offer.json.qrCode, /^data:image\/png;base64,iVBOR/)
      assert.include(offer.json.otpauthUri, `secret=${offer.json.secret}`)
      const wrong = yield* callJson("POST", "/api/auth/mfa/confirm", { code: "000000x" }, token.viewer)
      assertProblem(wrong, 400, "mfa-invalid-code")
      const code = yield* codeOf(offer.json.secret)
      const confirmed = yield* callJson("POST", "/api/auth/mfa/confirm", { code }, token.viewer)
      assert.strictEqual(new Set(confirmed.json.recoveryCodes).size, 10)
      assertProblem(yield* call("POST", "/api/auth/mfa/enroll", { token: token.viewer }), 400, "mfa-enrolled")

      yield* TestClock.adjust("1 minutes")
      const pending = yield* login("viewer", passwordOf("viewer"))
      const { mfaToken, ...rest } = pending.json
      assert.deepStrictEqual(rest, { mfaRequired: true, mfaMethods: ["totp", "recovery_code"], expiresIn: 300 })
      assertProblem(yield* me(Redacted.make(mfaToken)), 401, "unauthenticated")
      const verify = (proof: object) => callJson("POST", "/api/auth/mfa/verify", { mfaToken, extra: 1, ...proof })
      assertProblem(yield* verify({}), 400, "mfa-invalid-code")
      assertProblem(yield* verify({ code }), 400, "mfa-invalid-code")
      assertProblem(yield* verify({ mfaToken: "nop_m_x", code }), 400, "mfa-invalid-code")
      const fresh = yield* codeOf(offer.json.secret)
      const done = yield* verify({ code: fresh })
      assert.deepStrictEqual(Object.keys(done.json).sort(), ["expiresIn", "token", "user"])
      assertProblem(yield* verify({ code: fresh }), 400, "mfa-invalid-code")

      const again = (yield* login("viewer", passwordOf("viewer"))).json.mfaToken
      const recoveryCode = confirmed.json.recoveryCodes[0].toUpperCase()
      const byRecovery = yield* callJson("POST", "/api/auth/mfa/verify", { mfaToken: again, recoveryCode })
      assert.strictEqual(byRecovery.status, 200)
      assertProblem(
        yield* callJson("DELETE", "/api/auth/mfa", { code: fresh }, token.viewer),
        400,
        "mfa-invalid-code"
      )
      yield* TestClock.adjust("1 minutes")
      const last = { code: yield* codeOf(offer.json.secret) }
      assert.deepStrictEqual((yield* callJson("DELETE", "/api/auth/mfa", last, token.viewer)).json, { success: true })
      assert.property((yield* login("viewer", passwordOf("viewer"))).json, "token")
      const audit = yield* call("GET", "/api/audit?username=viewer&limit=1000", { token: token.admin })
      const told = (audit.json.items as ReadonlyArray<any>).map(({ operation, outcome }) => `${operation} ${outcome}`)
      for (const event of ["mfa.enrolled success", "mfa.disabled success", "mfa.failed failure"]) {
        assert.include(told, event)
      }
      assert.include(told, "login.mfa_required success")
      for (const secret of [offer.json.secret, last.code]) assert.notInclude(audit.text, secret)
    }).pipe(Effect.provide(TestApi)))

  it.effect("logout and refresh end the token that was presented, and no request passes afterwards", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const next = yield* call("POST", "/api/auth/refresh", { token: token.admin })
      assert.strictEqual(next.json.expiresIn, 3600)
      assertProblem(yield* me(token.admin), 401, "unauthenticated")
      const renewed = Redacted.make(next.json.token)
      assert.strictEqual((yield* me(renewed)).status, 200)
      assert.deepStrictEqual((yield* callJson("POST", "/api/auth/logout", { any: [1] }, renewed)).json, {
        success: true
      })
      const later = yield* Effect.replicateEffect(me(renewed), 1000)
      assert.lengthOf(later.filter(({ status }) => status !== 401), 0)
    }).pipe(Effect.provide(TestApi)))

  it.effect("sessions are one's own: another's and unknown ones are the same 404", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const own = yield* call("GET", "/api/auth/sessions", { token: token.viewer })
      const others = yield* call("GET", "/api/auth/sessions", { token: token.admin })
      assert.deepStrictEqual(own.json.items.map((item: any) => item.current), [true])
      const refusals = yield* Effect.forEach(
        [others.json.items[0].id, "7d4c1a0e-0000-4000-8000-000000000000", "x"],
        (id) => call("DELETE", `/api/auth/sessions/${id}`, { token: token.viewer })
      )
      for (const refusal of refusals) assertProblem(refusal, 404, "not-found")
      assert.strictEqual(new Set(refusals.map(({ json }) => json.detail)).size, 1)
      const second = Redacted.make((yield* login("viewer", passwordOf("viewer"))).json.token)
      const change = { currentPassword: passwordOf("viewer"), newPassword: "a much newer password" }
      const wrong = yield* callJson("POST", "/api/auth/password", { ...change, currentPassword: "x" }, second)
      assertProblem(wrong, 400, "password-mismatch")
      assert.deepStrictEqual((yield* callJson("POST", "/api/auth/password", change, second)).json, { success: true })
      assert.strictEqual((yield* me(second)).status, 200)
      assertProblem(yield* me(token.viewer), 401, "unauthenticated")
      assert.strictEqual((yield* login("viewer", change.newPassword)).status, 200)
    }).pipe(Effect.provide(TestApi)))

  it.effect("an API token has the scopes that its owner's role has too, from its networks, until it is deleted", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const draft = { name: "ci", scopes: ["actions:read", "automation.rules:write"] }
      const refused = yield* callJson("POST", "/api/auth/tokens", draft, token.viewer)
      assert.strictEqual(assertProblem(refused, 400, "invalid-request").errors[0].pointer, "/scopes")
      const created = yield* callJson("POST", "/api/auth/tokens", draft, token.operator)
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers["location"], `/api/auth/tokens/${created.json.id}`)
      const api = Redacted.make(created.json.token)
      assert.match(created.json.token, /^nop_t_/)
      assert.deepStrictEqual((yield* me(api)).json.permissions.sort(), [...draft.scopes].sort())
      assert.strictEqual((yield* call("GET", "/api/actions", { token: api })).status, 200)
      assertProblem(yield* call("GET", "/api/dhcp/events", { token: api }), 403, "forbidden")
      assertProblem(yield* call("GET", "/api/auth/tokens", { token: api }), 403, "session-required")
      assertProblem(yield* call("POST", "/api/auth/logout", { token: api }), 403, "session-required")

      const { json: { items } } = yield* call("GET", "/api/users", { token: token.admin })
      const operator = items.find((user: any) => user.username === "operator").id
      const change = (body: object) => callJson("PATCH", `/api/users/${operator}`, body, token.admin)
      assert.strictEqual((yield* change({ role: "viewer" })).status, 200)
      assertProblem(yield* callJson("POST", "/api/automation/rules", {}, api), 403, "forbidden")
      yield* change({ disabled: true })
      assertProblem(yield* me(api), 401, "unauthenticated")
      assertProblem(yield* me(token.operator), 401, "unauthenticated")
      yield* change({ disabled: false })
      assertProblem(yield* me(token.operator), 401, "unauthenticated")
      const list = yield* call("GET", "/api/auth/tokens", { token: token.admin })
      assert.deepStrictEqual(list.json, { items: [], total: 0, next: null })

      const bound = { ...draft, scopes: ["actions:read"], allowedNetworks: ["198.51.100.0/24"] }
      const elsewhere = yield* callJson("POST", "/api/auth/tokens", bound, token.admin)
      const far = Redacted.make(elsewhere.json.token)
      assertProblem(yield* me(far), 403, "token-network-refused")
      assert.strictEqual(
        (yield* call("DELETE", `/api/auth/tokens/${elsewhere.json.id}`, { token: token.admin })).status,
        200
      )
      assertProblem(yield* me(far), 401, "unauthenticated")
    }).pipe(Effect.provide(TestApi)))

  it.effect("users are created and changed, and the last administrator stays", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const draft = { username: "Eve", role: "admin", password: "long enough for it" }
      const created = yield* callJson("POST", "/api/users", draft, token.admin)
      assert.strictEqual(created.status, 201)
      assert.notProperty(created.json, "password")
      const twice = yield* callJson("POST", "/api/users", { ...draft, username: "eve" }, token.admin)
      assertProblem(twice, 400, "username-taken")
      const eve = `/api/users/${created.json.id}`
      assert.strictEqual((yield* callJson("PATCH", eve, { role: "viewer" }, token.admin)).json.role, "viewer")
      const self = (yield* me(token.admin)).json.id
      for (const body of [{ disabled: true }, { role: "viewer" }]) {
        const refused = yield* callJson("PATCH", `/api/users/${self}`, body, token.admin)
        assertProblem(refused, 400, "last-administrator")
      }
      for (const id of ["0", "x", "1e2", "2147483648", "99999"]) {
        assertProblem(yield* callJson("PATCH", `/api/users/${id}`, {}, token.admin), 404, "not-found")
      }
    }).pipe(Effect.provide(TestApi)))

  it.effect("too many attempts are answered alike for known and unknown users, with the time to wait", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.forEach(
        ["viewer", "nobody"],
        (name) => Effect.replicateEffect(login(name, "wrong"), 6)
      )
      for (const all of answers) {
        assert.deepStrictEqual(all.map(({ status }) => status), [401, 401, 401, 401, 401, 429])
        assertProblem(all[5]!, 429, "rate-limited")
        assert.strictEqual(all[5]!.headers["retry-after"], "900")
      }
      const [known, unknown] = answers.map((all) =>
        all.map(({ json: { instance: _i, requestId: _r, ...body } }) => body)
      )
      assert.deepStrictEqual(known, unknown)
      yield* TestClock.adjust("15 minutes")
      assert.strictEqual((yield* login("viewer", passwordOf("viewer"))).status, 200)
    }).pipe(Effect.provide(testApi(roomy(5)))))

  it.effect("eleven attempts a minute from one address are one too many, whoever they are for", () =>
    Effect.gen(function*() {
      const addressed = (username: string) => login(username, "wrong")
      yield* TestClock.adjust("1 minutes")
      const names = Array.from({ length: 11 }, (_, index) => `user-${index}`)
      const statuses = yield* Effect.forEach(names, (name) => Effect.map(addressed(name), ({ status }) => status))
      assert.deepStrictEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429])
      yield* TestClock.adjust("1 minutes")
      assert.strictEqual((yield* addressed("user-11")).status, 401)
    }).pipe(Effect.provide(TestApi)))

  it.effect("a token's requests are limited, and the limit ends with its minute", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const statuses = yield* Effect.replicateEffect(Effect.map(me(token.viewer), ({ status }) => status), 21)
      assert.deepStrictEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429])
      assert.strictEqual((yield* me(token.admin)).status, 200)
      yield* TestClock.adjust("1 minutes")
      assert.strictEqual((yield* me(token.viewer)).status, 200)
    }).pipe(Effect.provide(testApi(roomy(5, 20)))))

  signInTiming("memory", testApi(TimingPorts), Number(process.env["NETOPS_TIMING_TRIES"] ?? 60))
})
