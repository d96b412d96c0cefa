import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import { assertProblem, call, callJson } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const rules = "/api/automation/rules"
const draft = { name: "busy", threshold: { min_requests: 5 } }

/** Puts a rule's text as it is, in the name of somebody who may. */
const create = (body: string) =>
  Effect.flatMap(Callers, ({ token }) => call("POST", rules, { token: token.operator, body }))

const pointers = (body: { readonly errors: ReadonlyArray<{ readonly pointer: string }> }) =>
  body.errors.map(({ pointer }) => pointer)

layer(TestApi)("violations", (it) => {
  it.effect("names unknown fields where they are", () =>
    Effect.gen(function*() {
      const body = assertProblem(
        yield* create(
          "{\"name\":\"x\",\"threshold\":{\"min_requests\":1,\"a/b~c\":1},\"__proto__\":{\"x\":1},\"constructor\":2,\"nmae\":3}"
        ),
        400,
        "invalid-request"
      )
      assert.sameMembers(pointers(body), ["/threshold/a~1b~0c", "/__proto__", "/constructor", "/nmae"])
      assert.sameMembers(
        Object.keys(body.details),
        pointers(body).filter((pointer) => pointer !== "/__proto__").concat("/__proto__")
      )
      assert.isUndefined((Object.prototype as any).x)
      const query = assertProblem(
        yield* call("GET", `${rules}?limti=5&limit=0`, { token: (yield* Callers).token.viewer }),
        400,
        "invalid-request"
      )
      assert.sameMembers(pointers(query), ["/limti", "/limit"])
      for (const error of query.errors) assert.strictEqual(error.in, "query")
    }))

  it.effect("names each place once, with all that it would have taken", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const wrong = { mode: "no", message_types: ["x"], actions: [5, { type: "no" }], exclude: { randomized: 1 } }
      const answer = yield* callJson("POST", rules, { ...draft, ...wrong }, token.operator)
      const { details, errors } = assertProblem(answer, 400, "invalid-request")
      assert.strictEqual(new Set(pointers({ errors })).size, errors.length)
      assert.deepInclude(details, {
        "/mode": "Expected \"simulate\" or \"enforce\"",
        "/exclude/randomized": "Expected boolean",
        "/actions/0": "Expected an object, \"block\", \"quarantine\", \"allow\" or \"tag\"",
        "/actions/1/type": "Expected \"block\", \"quarantine\", \"allow\" or \"tag\""
      })
      assert.match(details["/message_types/0"], /^Expected "discover", .* or "relay-repl"$/)
      assert.strictEqual(errors.length, 5)
    }))

  it.effect("names all that is wrong with a rule", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const nested = (depth: number): unknown =>
        depth === 0 ? { field: "hostname", op: "eq", value: "x" } : { match: "all", rules: [nested(depth - 1)] }
      const body = {
        name: "",
        lookback_minutes: -5,
        schedule: { type: "cron", cron: "0 0 30 2 *", timezone: "Mars/Olympus" },
        threshold: {},
        filter: nested(5),
        actions: [{ type: "tag" }, { type: "explode" }]
      }
      for (const path of [rules, `${rules}/test-preview`]) {
        const named = pointers(
          assertProblem(yield* callJson("POST", path, body, token.operator), 400, "invalid-request")
        )
        for (
          const pointer of [
            "/name",
            "/lookback_minutes",
            "/schedule/cron",
            "/schedule/timezone",
            "/threshold",
            "/filter/rules/0/rules/0/rules/0/rules/0",
            "/actions/0/tag",
            "/actions/1/type"
          ]
        ) assert.include(named, pointer)
      }
      const regexes = {
        match: "all",
        rules: ["a".repeat(257), "(?=x)", "(a{1000}){1000}"].map((value) => ({ field: "hostname", op: "regex", value }))
      }
      const refused = assertProblem(
        yield* callJson("POST", rules, { ...draft, filter: regexes }, token.operator),
        400,
        "invalid-request"
      )
      assert.sameMembers(pointers(refused), [0, 1, 2].map((index) => `/filter/rules/${index}/value`))
    }))

  it.effect.prop("never gives back the values that were sent", {
    secret: fc.stringMatching(/^[a-z]{6}-[0-9]{6}$/),
    place: fc.constantFrom<(secret: string) => unknown>(
      (secret) => ({ ...draft, name: `${secret}\u0000` }),
      (secret) => ({ ...draft, mode: secret, severity: secret, protocol: secret, enabled: secret }),
      (secret) => ({ ...draft, schedule: { type: "interval", every: secret } }),
      (secret) => ({ ...draft, schedule: { type: "cron", cron: secret, timezone: secret } }),
      (secret) => ({ ...draft, schedule: secret, threshold: secret, actions: secret, filter: secret }),
      (secret) => ({ ...draft, filter: { rules: [{ field: secret, op: secret, value: secret }] } }),
      (secret) => ({ ...draft, filter: { rules: [{ field: "hostname", op: "regex", value: `(${secret}` }] } }),
      (secret) => ({
        ...draft,
        filter: { rules: [{ field: "client_ip", op: "cidr", values: [secret] }], match: secret }
      }),
      (secret) => ({ ...draft, exclude: { macs: [secret], ouis: [secret], subnets: [secret] } }),
      (secret) => ({ ...draft, actions: [secret, { type: "tag", tag: `!${secret}` }, { type: secret }] }),
      (secret) => ({ ...draft, message_types: [secret], tags: [`\n${secret}`], unknown: secret }),
      (secret) => [secret],
      (secret) => secret
    )
  }, ({ place, secret }) =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      for (const path of [rules, `${rules}/test-preview`]) {
        const answer = yield* callJson("POST", path, place(secret), token.operator)
        assertProblem(answer, 400, "invalid-request")
        assert.notInclude(answer.text, secret)
      }
      const texts = [
        yield* create(`{"name": ${secret}}`),
        yield* create(`"${secret}`),
        yield* call("GET", `${rules}?limit=${secret}&cursor=${secret}`, { token: token.viewer }),
        yield* call("GET", `/api/dhcp/events?filter=${secret}&start=${secret}&count=${secret}`, {
          token: token.viewer
        }),
        yield* call("GET", `/api/actions?type=${secret}`, { token: token.viewer }),
        yield* call("GET", `${rules}/${secret}`, { token: token.viewer }),
        yield* call("GET", `/${secret}`),
        yield* callJson("POST", "/api/auth/login", { username: secret, password: secret }),
        yield* callJson("POST", "/api/auth/login", { username: [secret], password: { secret } })
      ]
      for (const answer of texts) {
        assert.isAtLeast(answer.status, 400)
        assert.isBelow(answer.status, 500)
        assert.strictEqual(answer.text.indexOf(secret), -1, answer.text)
      }
    }), { fastCheck: { numRuns: 25 } })
})
