import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { Agent, type IncomingHttpHeaders, request, type RequestOptions } from "node:http"
import { connect, createServer } from "node:net"
import { DrainingLive, ListenerLive } from "../../src/layers/http/Listener.ts"
import { HttpLive } from "../../src/layers/http/Server.ts"
import { ActionMissing, Actions } from "../../src/services/Actions.ts"
import { DhcpEvents, EventStoreFailed } from "../../src/services/DhcpEvents.ts"
import { batchLimits } from "../../src/services/IngestBatches.ts"
import { assertProblem } from "../support/client.ts"
import { createUser, MemoryPorts, passwordOf, ServedApi } from "../support/testApi.ts"

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly reusedSocket: boolean
}

interface Failure extends Error {
  readonly onReusedSocket: boolean
}

/** Sends a request over a real socket, and hangs up once it is answered; `write` sends the body in its own way. */
const send = (options: RequestOptions, write: (sink: ReturnType<typeof request>) => void = (sink) => sink.end()) =>
  Effect.async<Answer, Failure>((resume) => {
    const fail = (error: Error) => resume(Effect.fail(Object.assign(error, { onReusedSocket: sink.reusedSocket })))
    const sink = request({ host: "127.0.0.1", ...options }, (source) => {
      const chunks: Array<Buffer> = []
      source.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", fail)
      source.on("end", () => {
        if (!sink.writableFinished) sink.destroy()
        resume(Effect.succeed({
          status: source.statusCode ?? 0,
          headers: source.headers,
          text: Buffer.concat(chunks).toString(),
          reusedSocket: sink.reusedSocket
        }))
      })
    })
    sink.on("error", fail)
    write(sink)
  })

const problem = (answer: Answer, status: number, slug: string) =>
  assertProblem(
    { ...answer, headers: answer.headers as Record<string, string>, json: JSON.parse(answer.text) },
    status,
    slug
  )

/** Writes octets to a socket as they are; gives what comes back until the server closes. */
const raw = (port: number, text: string) =>
  Effect.async<Answer>((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {})
    socket.on("close", () => {
      const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n")
      const [status = "", ...lines] = head.split("\r\n")
      const headers = Object.fromEntries(lines.map((line) => {
        const [name = "", value = ""] = line.split(": ")
        return [name.toLowerCase(), value]
      }))
      resume(Effect.succeed({ status: Number(status.split(" ")[1]), headers, text: body, reusedSocket: false }))
    })
  })

/**
 * A service on a port of its own, over memory. Asking for an action completes `asked`, and is answered on `open`; the store of
 * events fails after `batchesMax` batches. Its scope closes when the test says so, or at its end.
 */
const serve = Effect.fnUntraced(function*(batchesMax = Infinity) {
  const port = yield* freePort
  const asked = yield* Deferred.make<void>()
  const open = yield* Deferred.make<void>()
  const held = Deferred.succeed(asked, undefined).pipe(
    Effect.zipRight(Deferred.await(open)),
    Effect.zipRight(Effect.fail(new ActionMissing({ id: "held" })))
  )
  const Held = Layer.effect(Actions, Effect.map(Actions, (actions) => Actions.of({ ...actions, get: () => held })))
  let batches = 0
  const Filling = Layer.effect(
    DhcpEvents,
    Effect.map(DhcpEvents, (events) =>
      DhcpEvents.of({
        ...events,
        append: (batch) =>
          batches++ < batchesMax ? events.append(batch) : Effect.fail(new EventStoreFailed({ cause: "full" }))
      }))
  )
  const Ports = Layer.merge(MemoryPorts, Layer.provide(Layer.merge(Held, Filling), MemoryPorts))
  const config = ConfigProvider.fromMap(
    new Map([["PORT", String(port)], ["HOST", "127.0.0.1"], ["NETOPS_SHUTDOWN_GRACE", "5 seconds"]])
  )
  const Service = HttpLive.pipe(
    Layer.provide(ListenerLive),
    Layer.provide(ServedApi),
    Layer.merge(Layer.effectDiscard(createUser("operator", "operator"))),
    Layer.provide(Ports),
    Layer.provide(Layer.setConfigProvider(config)),
    Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
  )
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  yield* Layer.buildWithScope(Service, scope)
  const body = JSON.stringify({ username: "operator", password: passwordOf("operator") })
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
  const login = yield* send(
    { port, path: "/api/auth/login", method: "POST", headers },
    (sink) => sink.end(body)
  )
  const token = Redacted.make((JSON.parse(login.text) as { readonly token: string }).token)
  const authorization = `Bearer ${Redacted.value(token)}`
  return { port, authorization, asked, open, stop: Scope.close(scope, Exit.void) }
})

const actionPath = "/api/actions/7d4c1a0e-0000-4000-8000-000000000000"
const event = "{\"event_time\":\"2026-02-01T12:00:00Z\",\"protocol\":\"dhcpv4\",\"message_type\":\"discover\"," +
  "\"client_mac\":\"02:bd:00:00:00:01\"}\n"

describe("a real socket", () => {
  it.scopedLive("answers what is not HTTP with a problem", () =>
    Effect.gen(function*() {
      const { port } = yield* serve()
      const overflow = yield* raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`)
      problem(overflow, 431, "headers-too-large")
      const malformed = [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n"
      ]
      for (const text of malformed) {
        const answer = yield* raw(port, text)
        problem(answer, 400, "invalid-request")
        assert.strictEqual(answer.headers["connection"], "close")
      }
    }))

  it.scopedLive("says in one line that its port is taken", () =>
    Effect.gen(function*() {
      const { port } = yield* serve()
      const configured = Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["PORT", String(port)]])))
      const failure = yield* Effect.flip(Layer.build(Layer.provide(ListenerLive, [configured, DrainingLive])))
      assert.strictEqual(
        (failure as { readonly message: string }).message,
        `can't listen on port ${port} of 127.0.0.1 (PORT, HOST): another process listens there already`
      )
    }))

  it.scopedLive("answers HEAD as GET without a body, and keeps the connection", () =>
    Effect.gen(function*() {
      const { authorization, port } = yield* serve()
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const get = yield* send({ agent, port, path: "/health/live" })
      const head = yield* send({ agent, port, path: "/health/live", method: "HEAD" })
      assert.deepStrictEqual([get.status, get.text], [200, "{\"status\":\"live\"}"])
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      assert.isTrue(head.reusedSocket)
      const closed = yield* send({ agent, port, path: "/api/actions", method: "HEAD" })
      assert.deepStrictEqual([closed.status, closed.text], [401, ""])
      const allowed = yield* send({ agent, port, path: "/api/actions", method: "HEAD", headers: { authorization } })
      assert.strictEqual(allowed.status, 200)
      const missing = yield* send({ agent, port, path: "/nothing" })
      problem(missing, 404, "not-found")
      agent.destroy()
    }))

  it.scopedLive("takes uploads in chunks, and none at all", () =>
    Effect.gen(function*() {
      const { authorization, port } = yield* serve()
      const headers = { authorization, "content-type": "application/x-ndjson" }
      const upload = { port, path: "/api/dhcp/events", method: "POST", headers }
      const lines = event.repeat(5000).replaceAll("2026-02-01T12:00:00Z", new Date().toISOString())
      const many = yield* send(upload, (sink) => {
        for (let start = 0; start < lines.length; start += 10_007) sink.write(lines.slice(start, start + 10_007))
        sink.end()
      })
      assert.deepStrictEqual(JSON.parse(many.text), { accepted: 5000, rejected: 0, errors: [] })
      const none = yield* send(upload)
      assert.deepStrictEqual(JSON.parse(none.text), { accepted: 0, rejected: 0, errors: [] })
      const json = { ...upload, path: "/api/auth/login", headers: { "content-type": "application/json" } }
      const body = Buffer.alloc(64 * 1024, " ")
      const large = yield* send(json, (sink) => {
        sink.on("error", () => {})
        for (let i = 0; i < 20; i++) sink.write(body)
        sink.end()
      })
      problem(large, 413, "payload-too-large")
      const announced = { ...json, headers: { ...json.headers, "content-length": 3 * 1024 * 1024 } }
      const told = yield* send(announced, (sink) => sink.end(Buffer.alloc(3 * 1024 * 1024, " ")))
      problem(told, 413, "payload-too-large")
    }))

  it.scopedLive("answers a stream that it stops midway, while the client still sends", () =>
    Effect.gen(function*() {
      const { authorization, port } = yield* serve(1)
      const headers = { authorization, "content-type": "application/x-ndjson" }
      const lines = event.replace("2026-02-01T12:00:00Z", new Date().toISOString()).repeat(10_000)
      const answer = yield* send({ port, path: "/api/dhcp/events", method: "POST", headers }, (sink) => {
        let left = 20
        const more = () => {
          while (left-- > 0) if (!sink.write(lines)) return void sink.once("drain", more)
          sink.end()
        }
        more()
      })
      const body = problem(answer, 503, "ingest-interrupted")
      assert.deepInclude(body, { accepted: batchLimits.lines, resume_line: batchLimits.lines + 1 })
      assert.strictEqual((yield* send({ port, path: "/health/live" })).status, 200)
    }))

  it.scopedLive("survives clients that go away", () =>
    Effect.gen(function*() {
      const { asked, authorization, port } = yield* serve()
      const headers = { authorization, "content-type": "application/x-ndjson", "content-length": "1000000" }
      yield* Effect.async<void>((resume) => {
        const sink = request({ host: "127.0.0.1", port, path: "/api/dhcp/events", method: "POST", headers })
        sink.on("error", () => resume(Effect.void))
        sink.write(event, () => sink.destroy())
        sink.on("close", () => resume(Effect.void))
      })
      const waiting = yield* Effect.fork(
        Effect.either(send({ port, path: actionPath, headers: { authorization }, timeout: 50 }, (sink) => {
          sink.on("timeout", () => sink.destroy())
          sink.end()
        }))
      )
      yield* Deferred.await(asked)
      yield* Fiber.join(waiting)
      const answer = yield* send({ port, path: "/health/live" })
      assert.strictEqual(answer.status, 200)
    }))

  it.scopedLive("finishes what is in flight before it stops, and takes nothing new", () =>
    Effect.gen(function*() {
      const { asked, authorization, open, port, stop } = yield* serve()
      const idle = new Agent({ keepAlive: true })
      yield* send({ agent: idle, port, path: "/health/live" })
      const inFlight = yield* Effect.fork(send({ agent: idle, port, path: actionPath, headers: { authorization } }))
      yield* Deferred.await(asked)
      const stopping = yield* Effect.fork(stop)
      yield* Effect.sleep("200 millis")
      const refused = yield* Effect.flip(send({ agent: false, port, path: "/health/live" }))
      assert.strictEqual((refused as Error as NodeJS.ErrnoException).code, "ECONNREFUSED")
      assert.isNull(yield* Fiber.poll(stopping).pipe(Effect.map((exit) => exit._tag === "None" ? null : exit)))
      yield* Deferred.succeed(open, undefined)
      problem(yield* Fiber.join(inFlight), 404, "not-found")
      const [stopped] = yield* Effect.timed(Fiber.join(stopping))
      assert.isBelow(Duration.toSeconds(stopped), 3, "the kept connection ends with its answer")
      idle.destroy()
    }))

  it.scopedLive("answers all that busy connections send while it stops", () =>
    Effect.gen(function*() {
      const { port, stop } = yield* serve()
      const agent = new Agent({ keepAlive: true })
      // Until it isn't let in any more: what is sent on a connection that was answered before is answered too.
      const refused = Effect.gen(function*() {
        while (true) {
          const answer = yield* Effect.either(send({ agent, port, path: "/health/live" }))
          if (answer._tag === "Left") return answer.left.onReusedSocket
          assert.strictEqual(answer.right.status, 200)
        }
      })
      const senders = yield* Effect.fork(Effect.replicateEffect(refused, 16, { concurrency: "unbounded" }))
      yield* Effect.sleep("300 millis")
      yield* stop
      assert.deepStrictEqual(new Set(yield* Fiber.join(senders)), new Set([false]))
    }))
})
