import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as client from "../../src/api/client.ts"
import { registry } from "../../src/api/Problem.ts"
import { RuleDraft } from "../../src/schema/AutomationRule.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const rules = "/api/automation/rules"
const draft = { name: "busy", threshold: { min_requests: 5 } }
const decodeDraft = Schema.decodeUnknownSync(RuleDraft)
const encoder = new TextEncoder()
const json = { "content-type": "application/json" }

/** Puts a rule's text as it is, in the name of somebody who may. */
const create = (body: string | Uint8Array, headers: Record<string, string> = json) =>
  Effect.flatMap(Callers, ({ token }) => call("POST", rules, { token: token.operator, body, headers }))

const pointers = (body: { readonly errors: ReadonlyArray<{ readonly pointer: string }> }) =>
  body.errors.map(({ pointer }) => pointer)

layer(TestApi)("the error body", (it) => {
  it.effect("answers what the router doesn't know", () =>
    Effect.gen(function*() {
      for (const path of ["/", "/api", "/api/nothing", "/%ff", "//", "/__proto__"]) {
        assertProblem(yield* call("GET", path), 404, "not-found")
      }
    }))

  it.effect("names the methods that a path is served for", () =>
    Effect.gen(function*() {
      const answer = yield* call("PATCH", rules)
      assertProblem(answer, 405, "method-not-allowed")
      assert.strictEqual(answer.headers["allow"], "GET, HEAD, POST")
      const other = yield* call("POST", `${rules}/x`)
      assertProblem(other, 405, "method-not-allowed")
      assert.strictEqual(other.headers["allow"], "GET, HEAD, PUT, DELETE")
      assertProblem(yield* call("OPTIONS", rules), 405, "method-not-allowed")
      assertProblem(yield* call("DELETE", "/openapi.json"), 405, "method-not-allowed")
    }))

  it.effect("keeps a well-formed request id and makes one where there is none", () =>
    Effect.gen(function*() {
      const given = yield* call("GET", "/nothing", { headers: { "x-request-id": "client.made_id-1" } })
      assert.strictEqual(assertProblem(given, 404, "not-found").requestId, "client.made_id-1")
      const fine = yield* call("GET", "/health/live", { headers: { "x-request-id": "client.made_id-1" } })
      assert.strictEqual(fine.headers["x-request-id"], "client.made_id-1")
      for (const id of ["short", "x".repeat(65), "with space!", "<script>alert(1)</script>"]) {
        const made = assertProblem(
          yield* call("GET", "/nothing", { headers: { "x-request-id": id } }),
          404,
          "not-found"
        )
        assert.match(made.requestId, /^[0-9a-f-]{36}$/)
      }
    }))

  it.effect("gives each occurrence an id of its own", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.replicateEffect(call("GET", "/nothing"), 20)
      assert.strictEqual(new Set(answers.map((answer) => answer.json.instance)).size, 20)
      assert.strictEqual(new Set(answers.map((answer) => answer.json.requestId)).size, 20)
    }))

  it.effect("has a page for each problem type, which the client knows too", () =>
    Effect.gen(function*() {
      const exported = Object.entries(client).filter(([name]) => name.endsWith("Problems"))
      const declared = exported.flatMap(([, problems]) =>
        Object.entries(problems).filter(([, value]) => "slug" in value).map(([name]) => name)
      )
      assert.sameMembers([...registry.values()].map(({ identifier }) => identifier), declared)
      for (const [slug, problem] of registry) {
        const page = yield* call("GET", `/problems/${slug}`)
        assert.strictEqual(page.status, 200, slug)
        assert.match(page.headers["content-type"]!, /^text\/html/)
        assert.include(page.text, `/problems/${slug}`)
        assert.include(page.text, problem.spec.title)
      }
      assertProblem(yield* call("GET", "/problems/nothing"), 404, "not-found")
      assertProblem(yield* call("GET", "/problems/__proto__"), 404, "not-found")
    }))

  it.effect("refuses what is not JSON", () =>
    Effect.gen(function*() {
      const broken = [
        "{",
        "",
        " ",
        "{\"name\":}",
        "{'name':1}",
        "{\"name\":\"a\"}}",
        "NaN",
        "\ufeff\u0000",
        "{\"name\":\"raw\nnewline\"}",
        "[".repeat(200_000) + "]".repeat(200_000),
        "{\"a\":".repeat(100) + "1" + "}".repeat(100)
      ]
      for (const text of broken) {
        const body = assertProblem(yield* create(text), 400, "invalid-request")
        assert.deepStrictEqual(pointers(body), [""])
        assert.strictEqual(body.errors[0].in, "body")
      }
      for (const octets of [[0xff, 0xfe], [0x22, 0xc3, 0x28, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]]) {
        const body = assertProblem(yield* create(new Uint8Array(octets)), 400, "invalid-request")
        assert.include(body.detail, "UTF-8")
      }
    }))

  it.effect("refuses bodies that are absent where one is needed, and takes them for {} where all is optional", () =>
    Effect.gen(function*() {
      const { client, token } = yield* Callers
      assertProblem(yield* call("POST", rules, { token: token.operator }), 400, "invalid-request")
      assertProblem(yield* call("POST", "/api/auth/login"), 400, "invalid-request")
      const rule = yield* client.operator.automation.createRule({
        payload: decodeDraft({ ...draft, name: "absent body" })
      })
      const run = yield* call("POST", `${rules}/${rule.id}/run`, { token: token.operator })
      assert.strictEqual(run.status, 200)
      assertProblem(
        yield* call("POST", `${rules}/${rule.id}/run`, { token: token.operator, body: "[]" }),
        400,
        "invalid-request"
      )
      assertProblem(
        yield* call("POST", `${rules}/${rule.id}/run`, { token: token.operator, body: "null" }),
        400,
        "invalid-request"
      )
    }))

  it.effect("takes JSON in UTF-8 without coding, whatever else a body may be", () =>
    Effect.gen(function*() {
      const text = JSON.stringify({ ...draft, name: "media type" })
      const refused: ReadonlyArray<Record<string, string>> = [
        { "content-type": "application/x-www-form-urlencoded" },
        { "content-type": "text/plain" },
        { "content-type": "multipart/form-data; boundary=x" },
        { "content-type": "application/json-patch+json" },
        { "content-type": "application/json; charset=latin1" },
        { "content-type": "application/json; charset=utf-16" },
        { "content-type": " " },
        { ...json, "content-encoding": "gzip" },
        { ...json, "content-encoding": "br" }
      ]
      for (const headers of refused) assertProblem(yield* create(text, headers), 415, "unsupported-media-type")
      const taken: ReadonlyArray<Record<string, string>> = [
        { "content-type": "application/json; charset=utf-8" },
        { "content-type": "Application/JSON;charset=\"UTF-8\"" },
        { ...json, "content-encoding": "identity" }
      ]
      for (const headers of taken) {
        assert.strictEqual((yield* create(text, headers)).status, 201, headers["content-type"])
      }
    }))

  it.effect("refuses bodies of more than 1 MiB, announced or not", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const large = JSON.stringify({ ...draft, description: "x".repeat(1024 * 1024) })
      assertProblem(yield* create(large), 413, "payload-too-large")
      const chunks = Stream.range(1, 40).pipe(Stream.map(() => encoder.encode(" ".repeat(64 * 1024))))
      assertProblem(
        yield* call("POST", rules, { token: token.operator, body: chunks, headers: json }),
        413,
        "payload-too-large"
      )
      const padded = JSON.stringify({ ...draft, name: "just fits" })
      const fits = padded + " ".repeat(1024 * 1024 - padded.length)
      assert.strictEqual((yield* create(fits)).status, 201)
    }))

  it.effect("refuses texts that a store can't hold, and numbers that a double can't", () =>
    Effect.gen(function*() {
      for (const name of ["nul\u0000", "\ud800", "line\nfeed"]) {
        assert.deepStrictEqual(
          pointers(assertProblem(yield* create(JSON.stringify({ ...draft, name })), 400, "invalid-request")),
          ["/name"]
        )
      }
      for (const count of ["9007199254740993", "1e400", "-1", "0.5", "\"5\"", "null"]) {
        const body = yield* create(`{"name":"n","threshold":{"min_requests":${count}}}`)
        assert.deepStrictEqual(pointers(assertProblem(body, 400, "invalid-request")), ["/threshold/min_requests"])
      }
      const login = yield* call("POST", "/api/auth/login", {
        body: "{\"username\":\"\\u0000\",\"password\":\"\\ud800\"}"
      })
      assert.include([400, 401], login.status)
    }))

  it.effect("takes the last of duplicate keys, as JSON.parse does", () =>
    Effect.gen(function*() {
      const answer = yield* create("{\"name\":\"first\",\"name\":\"second\",\"threshold\":{\"min_requests\":1}}")
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.json.name, "second")
    }))
})

describe("problem slugs", () => {
  it("are the kebab-case of their tags", () => {
    for (const slug of registry.keys()) assert.match(slug, /^[a-z]+(?:-[a-z]+)*$/)
  })
})
