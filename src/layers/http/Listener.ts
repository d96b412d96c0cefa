import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Config, Context, Data, Deferred, Duration, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import type { AnyProblem } from "../../api/Problem.ts"
import { HeadersTooLarge, InvalidRequest, RequestTimeout } from "../../api/problems.ts"
import { problemBody } from "./problemResponse.ts"
import { NewServer, NewServerLive, tellOfPlainHttp } from "./Tls.ts"

/** Completed when the process begins to stop; long answers end themselves on it. */
export class Draining extends Context.Tag("http/Draining")<Draining, Deferred.Deferred<void>>() {}

export const DrainingLive = Layer.effect(Draining, Deferred.make<void>())

/** How long those who hold a connection have for a request that they are about to send. */
const linger = Duration.millis(250)

/** Stands above the served API, so that it is finalized first: until this has ended, what comes is still served. */
export const DrainOnClose = Layer.scopedDiscard(
  Effect.flatMap(
    Draining,
    (draining) =>
      Effect.addFinalizer(() => Effect.zipRight(Deferred.succeed(draining, undefined), Effect.sleep(linger)))
  )
)

const limits = { headersTimeoutMs: 10_000, keepAliveMs: 5_000, headerBytes: 16 * 1024 }

const problemOf = (code: string | undefined): AnyProblem => {
  if (code === "HPE_HEADER_OVERFLOW") return new HeadersTooLarge({ detail: "The headers exceed the limit of 16 KiB" })
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new RequestTimeout({ detail: "The headers did not arrive in time" })
  return new InvalidRequest({ detail: "The request is not well-formed HTTP/1.1", errors: [] })
}

/** What node's parser refuses never becomes a request; it is answered with the one error body all the same. */
const answerClientErrors = (server: Server) =>
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const problem = problemOf(error.code)
    const id = randomUUID()
    const body = JSON.stringify(problemBody(problem, id, randomUUID()))
    socket.end(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: application/problem+json\r\n` +
        `Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Request-ID: ${id}\r\nContent-Length: ${
          Buffer.byteLength(body)
        }\r\nConnection: close\r\n\r\n${body}`
    )
  })

interface DrainableServer extends Server {
  /** Takes no connection any more, and ends each with its next answer. */
  readonly drain: () => void
}

/**
 * `close` waits for open connections for ever, and cuts idle ones before their next request comes; here `drain` goes
 * before it, and what is left after the grace is cut.
 */
const makeServer = (newServer: NewServer["Type"], grace: Duration.Duration): DrainableServer => {
  const server = newServer.make({
    requestTimeout: 0,
    headersTimeout: limits.headersTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.headerBytes
  })
  answerClientErrors(server)
  const answers = new Set<ServerResponse>()
  let draining = false
  let ended = true
  server.on("request", (_, answer) => {
    if (draining) answer.shouldKeepAlive = false
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
  })
  server.once("listening", () => {
    ended = false
  })
  const whenEnded = new Promise<void>((resolve) =>
    server.once("close", () => {
      ended = true
      resolve()
    })
  )
  const drain = () => {
    if (draining) return
    draining = true
    for (const answer of answers) answer.shouldKeepAlive = false
    // That of the class of HTTP servers would cut idle connections.
    NetServer.prototype.close.call(server)
  }
  const close: Server["close"] = (callback) => {
    drain()
    setTimeout(() => server.closeAllConnections(), Duration.toMillis(grace)).unref()
    server.closeIdleConnections()
    void whenEnded.then(() => callback?.())
    return server
  }
  // Whoever stops the server asks whether there is something to wait for.
  Object.defineProperty(server, "listening", { get: () => !ended })
  return Object.assign(server, { drain, close })
}

/** The address can't be listened on: `message` is the one line for the operator. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly message: string }> {}

const reasonOf = (cause: unknown): string => {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === "EADDRINUSE") return "another process listens there already"
  return code === "EACCES" ? "not permitted" : message
}

const tellAddress = (secure: boolean) => (context: Context.Context<HttpServer.HttpServer>) => {
  const address = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
  return Effect.logInfo(`Listening on ${secure ? address.replace("http:", "https:") : address}`)
}

export const ListenerLive = Layer.unwrapScoped(
  Effect.gen(function*() {
    const port = yield* Config.port("PORT").pipe(Config.withDefault(8080))
    const host = yield* Config.string("HOST").pipe(Config.withDefault("127.0.0.1"))
    const grace = yield* Config.duration("NETOPS_SHUTDOWN_GRACE").pipe(Config.withDefault(Duration.seconds(10)))
    const draining = yield* Draining
    const newServer = yield* NewServer
    if (!newServer.secure) yield* tellOfPlainHttp(host)
    const server = makeServer(newServer, grace)
    yield* Effect.forkScoped(Effect.andThen(Deferred.await(draining), () => server.drain()))
    return NodeHttpServer.layer(() => server, { port, host }).pipe(
      Layer.tap(tellAddress(newServer.secure)),
      Layer.mapError(({ cause }) =>
        new ListenFailed({ message: `can't listen on port ${port} of ${host} (PORT, HOST): ${reasonOf(cause)}` })
      )
    )
  })
).pipe(Layer.provide(NewServerLive))
