import { Clock, Config, Context, Data, Effect, Layer, Option, Runtime } from "effect"
import { X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createServer, type Server, type ServerOptions } from "node:http"
import { createServer as createTlsServer, type Server as TlsServer } from "node:https"
import { createSecureContext } from "node:tls"
import { HttpMetrics } from "../telemetry/HttpMetrics.ts"

/** The certificate or its key is of no use: `message` is the one line for the operator. */
export class TlsUnusable extends Data.TaggedError("TlsUnusable")<{ readonly message: string }> {}

/** A certificate with what follows it in its chain, and its key: PEM text. */
interface Material {
  readonly cert: Buffer
  readonly key: Buffer
}

const handshakeTimeoutMs = 10_000

/** How long a browser that was here by HTTPS refuses to come by anything else (RFC 6797). */
const strictTransportSecurity = "max-age=31536000"

const path = (name: string) =>
  Config.option(Config.string(name)).pipe(Config.map(Option.filter((text) => text.trim() !== "")))

const files = Config.all({ cert: path("NETOPS_TLS_CERT"), key: path("NETOPS_TLS_KEY") })

const read = (name: string, file: string) =>
  Effect.tryPromise({
    try: () => readFile(file),
    catch: (cause) =>
      new TlsUnusable({ message: `${name}: ${file} can't be read (${(cause as NodeJS.ErrnoException).code})` })
  })

/** Both files, judged by OpenSSL before anything listens. */
const load = Effect.fnUntraced(function*(cert: string, key: string) {
  const material = yield* Effect.all({ cert: read("NETOPS_TLS_CERT", cert), key: read("NETOPS_TLS_KEY", key) })
  const leaf = yield* Effect.try({
    try: () => {
      createSecureContext(material)
      return new X509Certificate(material.cert)
    },
    catch: (cause) =>
      new TlsUnusable({
        message: `NETOPS_TLS_CERT and NETOPS_TLS_KEY: ${cert} and ${key} don't make a certificate with its key (${
          (cause as Error).message
        })`
      })
  })
  const ends = new Date(leaf.validTo)
  Option.map(yield* Effect.serviceOption(HttpMetrics), (metrics) => metrics.certificateUntil(ends.getTime()))
  const tell = ends.getTime() > (yield* Clock.currentTimeMillis) ? Effect.logInfo : Effect.logWarning
  yield* tell(`tls: certificate of ${leaf.subject.replaceAll("\n", ", ")} until ${ends.toISOString()}`)
  return material
})

/** Makes the node server of the listener. */
export class NewServer extends Context.Tag("http/NewServer")<
  NewServer,
  { readonly secure: boolean; readonly make: (options: ServerOptions) => Server }
>() {}

const secureServer = (material: Material, opened: (server: TlsServer) => void) => (options: ServerOptions): Server => {
  const server = createTlsServer({
    ...options,
    ...material,
    minVersion: "TLSv1.2",
    handshakeTimeout: handshakeTimeoutMs
  })
  // Before every other listener, so that each answer has it, whoever writes it.
  server.on("request", (_, answer) => void answer.setHeader("strict-transport-security", strictTransportSecurity))
  opened(server)
  return server
}

/** Reads the files again at each SIGHUP; connections that are open keep the certificate that they began with. */
const reloading = Effect.fnUntraced(function*(reload: Effect.Effect<void, TlsUnusable>) {
  const runtime = yield* Effect.runtime()
  const onSignal = () => {
    Runtime.runFork(runtime)(
      Effect.catchAll(reload, ({ message }) => Effect.logError(`tls: the certificate before stays: ${message}`))
    )
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", onSignal)),
    () => Effect.sync(() => process.off("SIGHUP", onSignal))
  )
})

/**
 * HTTPS where `NETOPS_TLS_CERT` and `NETOPS_TLS_KEY` name PEM files, which SIGHUP reads again, else HTTP.
 */
export const NewServerLive = Layer.scoped(
  NewServer,
  Effect.gen(function*() {
    const { cert, key } = yield* files
    if (Option.isNone(cert) && Option.isNone(key)) return { secure: false, make: createServer }
    if (Option.isNone(cert) || Option.isNone(key)) {
      return yield* new TlsUnusable({ message: "NETOPS_TLS_CERT and NETOPS_TLS_KEY: both or neither" })
    }
    const material = load(cert.value, key.value)
    let current: TlsServer | undefined
    yield* reloading(Effect.map(material, (next) => current?.setSecureContext({ ...next, minVersion: "TLSv1.2" })))
    return {
      secure: true,
      make: secureServer(yield* material, (server) => {
        current = server
      })
    }
  })
)

const isLoopback = (host: string) => host === "localhost" || host === "::1" || /^127\./.test(host)

/** Warns where tokens would cross a network in the clear: no certificate, and no proxy that could have one. */
export const tellOfPlainHttp = Effect.fnUntraced(function*(host: string) {
  const proxies = yield* Config.string("NETOPS_TRUSTED_PROXIES").pipe(Config.withDefault(""))
  if (isLoopback(host) || proxies.trim() !== "") return
  yield* Effect.logWarning(
    `tokens and passwords reach ${host} (HOST) unencrypted: set NETOPS_TLS_CERT and NETOPS_TLS_KEY, ` +
      "or NETOPS_TRUSTED_PROXIES where a proxy before it has the certificate"
  )
})
