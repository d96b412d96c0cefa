import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { CrossOriginLive } from "../../src/layers/http/CrossOrigin.ts"
import { served } from "../support/served.ts"

const origin = "https://netops.example.org"

const preflight = {
  method: "OPTIONS",
  headers: { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type" }
}

/** The status and the headers of an answer to a page of this origin. */
const ask = (port: number, from: string, init: RequestInit = {}) =>
  Effect.promise(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/actions`, {
      ...init,
      headers: { ...init.headers, Origin: from }
    })
    await answer.arrayBuffer()
    return { status: answer.status, header: (name: string) => answer.headers.get(`access-control-${name}`), answer }
  })

describe("calls of pages from elsewhere", () => {
  it.scopedLive("are let through for the listed origins alone", () =>
    Effect.gen(function*() {
      const { port } = yield* served({ NETOPS_CORS_ORIGINS: `http://localhost:5173, ${origin}` })
      const asked = yield* ask(port, origin, preflight)
      assert.strictEqual(asked.status, 204)
      assert.strictEqual(asked.header("allow-origin"), origin)
      assert.include(asked.header("allow-methods"), "POST")
      for (const name of ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID"]) {
        assert.include(asked.header("allow-headers"), name)
      }
      const refused = yield* ask(port, origin)
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(refused.header("allow-origin"), origin)
      assert.include(refused.header("expose-headers"), "X-Request-ID")
      assert.isNull(refused.header("allow-credentials"))
      for (const other of [`${origin}.evil.example`, "https://example.org", "null"]) {
        const strange = yield* ask(port, other, preflight)
        assert.deepStrictEqual([strange.status, strange.header("allow-origin")], [405, null])
        assert.strictEqual(strange.answer.headers.get("vary"), "Origin")
      }
    }))

  it.scopedLive("are not let through where nothing is listed", () =>
    Effect.gen(function*() {
      const { port } = yield* served()
      const asked = yield* ask(port, origin, preflight)
      assert.deepStrictEqual([asked.status, asked.header("allow-origin")], [405, null])
    }))

  it.scopedLive("are listed as origins, else the start ends", () =>
    Effect.gen(function*() {
      for (const wrong of ["*", "netops.example.org", `${origin}/`, "null"]) {
        const configured = Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["NETOPS_CORS_ORIGINS", wrong]])))
        const failure = yield* Effect.flip(Layer.build(Layer.provide(CrossOriginLive, configured)))
        assert.include(String(failure), "NETOPS_CORS_ORIGINS")
      }
    }))
})
