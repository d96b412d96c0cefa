import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Schedule } from "effect"
import { execFile } from "node:child_process"
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises"
import { request as plainly, type RequestOptions } from "node:http"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls"
import { promisify } from "node:util"
import { NewServerLive, tellOfPlainHttp } from "../../src/layers/http/Tls.ts"
import { liveSuite } from "../support/live.ts"
import { served } from "../support/served.ts"

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-tls-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** A key and a certificate that signs itself, for `localhost`. */
const selfSigned = (directory: string, name: string) =>
  Effect.promise(async () => {
    const cert = join(directory, `${name}.pem`)
    const key = join(directory, `${name}.key`)
    const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    await promisify(execFile)("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", key, "-out", cert])
    return { cert, key }
  })

const answerOf = (send: typeof request, options: RequestOptions & { readonly ca?: Buffer }) =>
  Effect.async<{ readonly status: number; readonly headers: Record<string, unknown>; readonly text: string }, Error>(
    (resume) => {
      const sink = send({ host: "127.0.0.1", agent: false, ...options }, (source) => {
        let text = ""
        source.on("data", (chunk) => text += String(chunk))
        source.on("end", () => resume(Effect.succeed({ status: source.statusCode!, headers: source.headers, text })))
      })
      sink.on("error", (error) => resume(Effect.fail(error))).end()
    }
  )

const subjectAt = (port: number, options: ConnectionOptions = {}) =>
  Effect.async<string, Error>((resume) => {
    const socket: TLSSocket = connect({ ...options, host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject
      socket.destroy()
      resume(Effect.succeed(String(CN)))
    })
    socket.on("error", (error) => resume(Effect.fail(error)))
  })

const configured = (settings: Readonly<Record<string, string>>) =>
  Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings))))

liveSuite("a certificate of the service's own", ["openssl"], () => {
  it.scopedLive("serves HTTPS alone, and tells browsers to stay with it", () =>
    Effect.gen(function*() {
      const { cert, key } = yield* selfSigned(yield* directory, "first")
      const { lines, port } = yield* served({ NETOPS_TLS_CERT: cert, NETOPS_TLS_KEY: key, HOST: "0.0.0.0" })
      const ca = yield* Effect.promise(() => readFile(cert))
      const found = yield* answerOf(request, { port, path: "/health/live", ca })
      const missing = yield* answerOf(request, { port, path: "/nothing", ca })
      for (const { headers } of [found, missing]) {
        assert.strictEqual(headers["strict-transport-security"], "max-age=31536000")
      }
      assert.deepStrictEqual([found.status, missing.status], [200, 404])
      assert.match(
        lines.find((line) => line.includes("tls: ")) ?? "",
        /^INFO tls: certificate of CN=first until \d{4}-/
      )
      assert.include(lines, `INFO Listening on https://0.0.0.0:${port}`)
      assert.isFalse(lines.some((line) => line.includes("unencrypted")))
      const old = yield* Effect.either(subjectAt(port, { maxVersion: "TLSv1.1", minVersion: "TLSv1.1" }))
      assert.strictEqual(old._tag, "Left")
      for (let i = 0; i < 3; i++) {
        yield* Effect.either(answerOf(plainly as typeof request, { port, path: "/health/live" }))
      }
      assert.strictEqual((yield* answerOf(request, { port, path: "/health/live", ca })).status, 200)
    }))

  it.scopedLive("is read again at SIGHUP, and kept where the new one is none", () =>
    Effect.gen(function*() {
      const files = yield* directory
      const first = yield* selfSigned(files, "first")
      const second = yield* selfSigned(files, "second")
      const { lines, port } = yield* served({ NETOPS_TLS_CERT: first.cert, NETOPS_TLS_KEY: first.key })
      assert.strictEqual(yield* subjectAt(port), "first")
      const until = (text: string) =>
        Effect.suspend(() => lines.some((line) => line.includes(text)) ? Effect.void : Effect.fail(lines)).pipe(
          Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 500 })
        )
      yield* Effect.promise(() => copyFile(second.cert, first.cert))
      process.kill(process.pid, "SIGHUP")
      yield* until("ERROR tls: the certificate before stays")
      assert.strictEqual(yield* subjectAt(port), "first")
      yield* Effect.promise(() => copyFile(second.key, first.key))
      process.kill(process.pid, "SIGHUP")
      yield* until("CN=second")
      assert.strictEqual(yield* subjectAt(port), "second")
    }))

  it.scopedLive("ends the start in one line where it is none", () =>
    Effect.gen(function*() {
      const files = yield* directory
      const { cert, key } = yield* selfSigned(files, "first")
      const other = yield* selfSigned(files, "second")
      const missing = join(files, "missing.pem")
      const cases = [
        [{ NETOPS_TLS_CERT: cert }, /^NETOPS_TLS_CERT and NETOPS_TLS_KEY: both or neither$/],
        [
          { NETOPS_TLS_CERT: missing, NETOPS_TLS_KEY: key },
          /^NETOPS_TLS_CERT: .*missing\.pem can't be read \(ENOENT\)$/
        ],
        [{ NETOPS_TLS_CERT: cert, NETOPS_TLS_KEY: other.key }, /don't make a certificate with its key/],
        [{ NETOPS_TLS_CERT: key, NETOPS_TLS_KEY: key }, /don't make a certificate with its key/]
      ] as const
      for (const [settings, expected] of cases) {
        const failure = yield* Effect.flip(Layer.build(Layer.provide(NewServerLive, configured(settings))))
        assert.match((failure as { readonly message: string }).message, expected)
      }
    }))

  it.scopedLive("is asked for where tokens would cross a network in the clear", () =>
    Effect.gen(function*() {
      const warned = Effect.fnUntraced(function*(host: string, settings: Readonly<Record<string, string>> = {}) {
        const lines: Array<string> = []
        const log = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.label} ${String(message)}`))
        yield* tellOfPlainHttp(host).pipe(
          Effect.provide([configured(settings), Logger.replace(Logger.defaultLogger, log)])
        )
        return lines.some((line) => /^WARN .*unencrypted/.test(line))
      })
      assert.isTrue(yield* warned("0.0.0.0"))
      for (const host of ["127.0.0.1", "::1", "localhost"]) assert.isFalse(yield* warned(host))
      assert.isFalse(yield* warned("0.0.0.0", { NETOPS_TRUSTED_PROXIES: "10.0.0.0/8" }))
    }))
})
