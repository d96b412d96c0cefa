import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { clickHouseClient } from "../../src/layers/clickhouse/ClickHouseClient.ts"

/** A server that takes a query and never answers; it tells what was asked, and when the connection is gone. */
const silent = Effect.gen(function*() {
  const asked = yield* Deferred.make<URLSearchParams>()
  const gone = yield* Deferred.make<void>()
  const server = createServer((request, response) => {
    request.resume()
    response.once("close", () => Deferred.unsafeDone(gone, Effect.void))
    Deferred.unsafeDone(asked, Effect.succeed(new URL(request.url ?? "/", "http://server").searchParams))
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => void server.close())
  )
  return { asked, gone, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

it.scopedLive("a read that nobody waits for closes its connection, on which ClickHouse ends it", () =>
  Effect.gen(function*() {
    const { asked, gone, url } = yield* silent
    const clickhouse = yield* clickHouseClient(Redacted.make(url), "netops")
    const reading = yield* Effect.fork(clickhouse.query({ query: "SELECT 1" }))
    const settings = yield* Deferred.await(asked)
    assert.strictEqual(settings.get("cancel_http_readonly_queries_on_client_close"), "1")
    assert.strictEqual(settings.get("readonly"), "1")
    assert.strictEqual(settings.get("timeout_before_checking_execution_speed"), "0")
    assert.isAbove(Number(settings.get("max_execution_time")), 0)
    yield* Fiber.interrupt(reading)
    yield* Deferred.await(gone).pipe(Effect.timeout("5 seconds"))
  }))
