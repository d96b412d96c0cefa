import { assert } from "@effect/vitest"
import { it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemGuard } from "../../src/layers/notify/guardedConnection.ts"
import { logPipelineTransport } from "../../src/layers/notify/LogPipelineTransportNode.ts"
import { LogPipelineDraft } from "../../src/schema/LogPipeline.ts"
import { LogPipelineTransport } from "../../src/services/LogPipelineChannel.ts"
import { liveSuite } from "../support/live.ts"

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })

const configuration = (directory: string, tcp: number, tls: number) =>
  `global(workDirectory="${directory}" maxMessageSize="64k"
  defaultNetstreamDriverCAFile="${directory}/cert.pem"
  defaultNetstreamDriverCertFile="${directory}/cert.pem"
  defaultNetstreamDriverKeyFile="${directory}/key.pem")
module(load="imtcp")
template(name="line" type="string" string="%pri% %app-name% %msgid% %structured-data% %msg%\\n")
ruleset(name="all") { action(type="omfile" file="${directory}/out.log" template="line" asyncWriting="off") }
input(type="imtcp" address="127.0.0.1" port="${tcp}" ruleset="all")
input(type="imtcp" address="127.0.0.1" port="${tls}" ruleset="all" streamDriver.name="gtls" streamDriver.mode="1"
  streamDriver.authMode="anon")
`

const open = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve((socket.destroy(), true)))
    socket.once("error", () => resolve(false))
  })

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** rsyslog in the foreground, with a certificate of its own. */
const rsyslog = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = mkdtempSync(join(tmpdir(), "netops-rsyslog-"))
    const [tcp, tls] = [await freePort(), await freePort()]
    execFileSync("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
      ...["-keyout", join(directory, "key.pem"), "-out", join(directory, "cert.pem")]
    ], { stdio: "ignore" })
    writeFileSync(join(directory, "rsyslog.conf"), configuration(directory, tcp, tls))
    const child = spawn("rsyslogd", ["-n", "-f", join(directory, "rsyslog.conf"), "-i", join(directory, "pid")], {
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.stderr.on("data", (chunk) => output += String(chunk))
    for (let tries = 0; tries < 300 && !(await open(tcp) && await open(tls)); tries++) await pause(100)
    const lines = () => {
      try {
        return readFileSync(join(directory, "out.log"), "utf8").trimEnd().split("\n")
      } catch {
        return []
      }
    }
    return {
      directory,
      tcp,
      tls,
      child,
      lines,
      output: () => output,
      cert: readFileSync(join(directory, "cert.pem"), "utf8")
    }
  }),
  ({ child, directory }) =>
    Effect.promise(async () => {
      const gone = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGKILL")
      await gone
      rmSync(directory, { recursive: true, force: true })
    })
)

const record = (number: number) => ({
  json: JSON.stringify({ number, text: "grüße ] \" \\ 😀", filler: "x".repeat(2000) }),
  type: "notification.test",
  severity: "critical" as const,
  time: "2026-01-31T08:00:00.000Z",
  eventId: `event-${number}`,
  deliveryId: `delivery-${number}`
})

const sendTo = (uri: string, tls: object, count: number, from: number) =>
  Effect.gen(function*() {
    const settings = Schema.decodeUnknownSync(LogPipelineDraft)({
      type: "syslog",
      uri,
      tls,
      request: { timeout_secs: 30 }
    })
    const transport = yield* LogPipelineTransport
    yield* transport.probe({ settings, secrets: {} })
    const pipe = yield* transport.open({ settings, secrets: {} })
    yield* pipe.send(Array.from({ length: count }, (_, index) => record(from + index)))
  }).pipe(Effect.scoped, Effect.provide(logPipelineTransport(systemGuard(true))))

liveSuite("syslog to rsyslog", ["rsyslogd", "openssl"], () => {
  it.scopedLive("takes records over TCP and TLS as they were sent", () =>
    Effect.gen(function*() {
      const server = yield* rsyslog
      yield* sendTo(`tcp://127.0.0.1:${server.tcp}`, {}, 200, 0)
      yield* sendTo(`tls://127.0.0.1:${server.tls}`, { ca_file: server.cert }, 200, 200)
      const refused = yield* Effect.flip(sendTo(`tls://127.0.0.1:${server.tls}`, {}, 1, 900))
      assert.include(refused.message, "CERT")
      yield* sendTo(`tls://127.0.0.1:${server.tls}`, { verify_certificate: false }, 1, 400)
      for (let tries = 0; tries < 200 && server.lines().length < 401; tries++) yield* Effect.promise(() => pause(50))
      const lines = server.lines()
      assert.lengthOf(lines, 401, server.output())
      lines.forEach((line, number) => {
        const [, pri, app, msgid, data, json] = /^(\d+) (\S+) (\S+) (\[.*?\]) (.*)$/.exec(line) ?? []
        assert.deepStrictEqual([pri, app, msgid], ["130", "netops", "notification.test"])
        assert.strictEqual(data, `[netops@32473 event="event-${number}" delivery="delivery-${number}"]`)
        assert.strictEqual(
          json,
          record(number).json.replace(
            /[\u007f-\uffff]/g,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
          )
        )
      })
    }), 120_000)
})
