import { type HttpClient, OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { Api, endpoints } from "../../src/api/Api.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers } from "../support/testApi.ts"
import { conditional, idempotent, made, repeatable, send, switches, times, unconditional } from "./safeWriteTables.ts"

const operation = (id: string) => endpoints.find((endpoint) => endpoint.id === id)!

const successes = Effect.fnUntraced(function*(id: string) {
  const { token } = yield* Callers
  return (yield* call("GET", `/api/audit?operation=${id}&outcome=success`, { token: token.admin })).json.total as number
})

/** That requests can be sent again, and writes be held to what was read. */
export const safeWrites = (name: string, layer: Layer.Layer<HttpClient.HttpClient | Callers>) =>
  describe(`safe writes: ${name}`, () => {
    it("every POST outside of /api/auth and every other write is in one of the tables", () => {
      const posts = endpoints.filter(({ method, path }) => method === "POST" && !path.startsWith("/api/auth/"))
      const idsOf = (list: ReadonlyArray<{ readonly id: string }>) => list.map(({ id }) => id).sort()
      assert.deepStrictEqual(idsOf(posts), [...Object.keys(idempotent), ...Object.keys(repeatable)].sort())
      assert.deepStrictEqual(
        idsOf(endpoints.filter(({ traits }) => traits.idempotent)),
        Object.keys(idempotent).sort()
      )
      const writes = endpoints.filter(({ method }) => ["PUT", "PATCH", "DELETE"].includes(method))
      assert.deepStrictEqual(idsOf(writes), [...Object.keys(conditional), ...Object.keys(unconditional)].sort())
      for (const { id, path, traits } of writes) {
        assert.strictEqual(traits.versioned, id in conditional, id)
        const read = endpoints.find((endpoint) => endpoint.method === "GET" && endpoint.path === path)
        if (traits.versioned) assert.isTrue(read?.traits.versioned, `${id} has no read that tells its ETag`)
      }
    })

    it("the document tells of the headers and of their refusals", () => {
      const spec = Object.values(OpenApi.fromApi(Api).paths).flatMap((item) => Object.values<any>(item))
      for (const { operationId, parameters, responses } of spec) {
        const takes = (parameters as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
        const problems = (status: number) => JSON.stringify(responses[status] ?? null)
        const told = {
          key: takes.includes("Idempotency-Key"),
          inFlight: problems(409).includes("/IdempotencyInFlight"),
          reused: problems(422).includes("/IdempotencyKeyReused"),
          match: takes.includes("If-Match"),
          mismatch: problems(412).includes("/PreconditionFailed")
        }
        const keyed = operationId in idempotent
        const matched = operationId in conditional || switches.includes(operationId)
        assert.deepStrictEqual(
          told,
          { key: keyed, inFlight: keyed, reused: keyed, match: matched, mismatch: matched },
          operationId
        )
      }
    })

    it.layer(layer, { timeout: "60 seconds" })((it) => {
      for (const [id, { body, other, path }] of Object.entries(idempotent)) {
        it.effect(`${id}: of equal requests with one key one acts, and all are told the same`, () =>
          Effect.gen(function*() {
            const { token: { admin: token } } = yield* Callers
            const to = yield* path(token)
            const [sent, another] = [yield* made(body, token), yield* made(other, token)]
            const before = yield* successes(id)
            const headers = { "idempotency-key": "k" }
            const answers = yield* Effect.all(times(8).map(() => send("POST", to, sent, token, headers)), {
              concurrency: "unbounded"
            })
            const first = answers.find(({ status }) => status < 300)
            assert.isDefined(first, answers[0]!.text)
            for (const answer of answers) {
              if (answer.status === 409) assertProblem(answer, 409, "idempotency-in-flight")
              else assert.deepStrictEqual([answer.status, answer.text], [first!.status, first!.text])
            }
            const again = yield* send("POST", to, sent, token, headers)
            assert.strictEqual(again.text, first!.text)
            assert.strictEqual(again.headers["idempotent-replayed"], "true")
            for (const header of ["location", "etag", "content-type"]) {
              assert.strictEqual(again.headers[header], first!.headers[header], header)
            }
            assert.strictEqual(yield* successes(id), before + 1)
            assertProblem(yield* send("POST", to, another, token, headers), 422, "idempotency-key-reused")
            assert.strictEqual(yield* successes(id), before + 1)
          }))
      }

      for (const [id, { body, path }] of Object.entries(conditional)) {
        it.effect(`${id}: of writes at once under one ETag one is made`, () =>
          Effect.gen(function*() {
            const { token: { admin: token } } = yield* Callers
            const { method } = operation(id)
            const to = yield* path(token)
            const read = (headers = {}) => call("GET", to, { token, headers })
            const write = (match: string) => send(method, to, body, token, { "if-match": match })
            const found = yield* read()
            const etag = found.headers["etag"]!
            assert.match(etag, /^"\d+"$/)
            assert.strictEqual((yield* read({ "if-none-match": etag })).status, 304)
            for (const wrong of ["\"987654\"", `W/${etag}`, "\"x\"", ""]) {
              assertProblem(yield* write(wrong), 412, "precondition-failed")
            }
            assert.strictEqual((yield* read()).text, found.text)
            const answers = yield* Effect.all(times(8).map(() => write(`"987654", ${etag}`)), {
              concurrency: "unbounded"
            })
            const won = answers.filter(({ status }) => status === 200)
            assert.lengthOf(won, 1, answers[0]!.text)
            for (const answer of answers.filter(({ status }) => status !== 200)) {
              if (method === "DELETE" && answer.status === 404) assertProblem(answer, 404, "not-found")
              else assertProblem(answer, 412, "precondition-failed")
            }
            if (method === "DELETE") return
            assert.notStrictEqual(won[0]!.headers["etag"], etag)
            assert.strictEqual((yield* read()).headers["etag"], won[0]!.headers["etag"])
            assert.strictEqual((yield* write("*")).status, 200)
          }))
      }
    })
  })
