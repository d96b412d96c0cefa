import { createClient } from "@clickhouse/client"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Console, Effect, Exit, Redacted, Schedule, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { format } from "node:util"
import { inject } from "vitest"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { totpCode } from "../../src/services/Totp.ts"
import { freshDatabase } from "../support/engines.ts"
import { startNode } from "../support/serverNode.ts"

/** Everything that must not be found, by what it is. */
class Canaries {
  readonly planted = new Map<string, string>()
  /** A value that occurs nowhere else. */
  plant(what: string): string {
    return this.keep(what, `Canary-${randomBytes(9).toString("hex")}`)
  }
  keep(what: string, value: string): string {
    assert.isAtLeast(value.length, 6, what)
    this.planted.set(what, value)
    return value
  }
  /** Looks for each as it is, and as JSON, base64 and a URL would write it. */
  assertNoneIn(place: string, text: string, ...except: ReadonlyArray<string>) {
    assert.isAbove(text.length, 0, `${place} is not empty`)
    for (const [what, value] of this.planted) {
      if (except.includes(what)) continue
      const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]
      // Whole groups of three octets, wherever it begins within them.
      for (const start of [0, 1, 2]) {
        const whole = value.slice(start, start + Math.floor((value.length - start) / 3) * 3)
        if (value.length > 12) forms.push(Buffer.from(whole).toString("base64"))
      }
      for (const form of forms) {
        const at = text.indexOf(form)
        assert.strictEqual(at, -1, `${what} in ${place}: …${text.slice(Math.max(0, at - 200), at + 60)}…`)
      }
    }
  }
}

/** What is written to the console that is given, and to standard output until the scope closes. */
const capture = Effect.gen(function*() {
  const lines: Array<string> = []
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const { write } = process.stdout
      process.stdout.write = (text: unknown) => lines.push(String(text)) > 0
      return write
    }),
    (write) =>
      Effect.sync(() => {
        process.stdout.write = write
      })
  )
  const write = (...parts: ReadonlyArray<unknown>) => void lines.push(format(...parts))
  const console = { ...globalThis.console, log: write, info: write, warn: write, error: write, debug: write }
  const unsafe = { ...console, trace: write, group: write, groupCollapsed: write }
  const service = new Proxy({ unsafe, [Console.TypeId]: Console.TypeId } as Record<PropertyKey, unknown>, {
    get: (target, name) =>
      name in target ? target[name] : (...parts: ReadonlyArray<unknown>) => Effect.sync(() => write(...parts))
  })
  return { console: service as unknown as Console.Console, lines }
})

/** A receiver that refuses and sends back all that it was sent, and a collector that keeps what it is told. */
const receiver = (status: number) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly got: Array<string>; readonly close: () => void }>((resume) => {
      const got: Array<string> = []
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => body += String(chunk))
        request.on("end", () => {
          got.push(body)
          response.writeHead(status).end(JSON.stringify(request.headers))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, got, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

interface Sent {
  readonly token?: string
  readonly body?: unknown
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

const caller = (url: string) => {
  /** The bodies of all answers of 400 and above. */
  const errors: Array<string> = []
  const ask = (method: string, path: string, { body, headers, text, token }: Sent = {}) =>
    Effect.promise(async () => {
      const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...(sent === undefined ? {} : { "content-type": "application/json" }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers
        },
        ...(sent === undefined ? {} : { body: sent })
      })
      const said = await answer.text()
      if (answer.status >= 400) errors.push(said)
      return { status: answer.status, text: said, json: said.startsWith("{") ? JSON.parse(said) : undefined }
    })
  return { ask, errors }
}

const everyRow = (databaseUrl: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql<{ readonly name: string }>`
      SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
    const texts = yield* Effect.forEach(tables, ({ name }) =>
      Effect.map(
        sql<{ readonly text: string | null }>`SELECT string_agg(t::text, E'\n') AS text FROM ${sql(name)} AS t`,
        ([row]) => `${name}\n${row?.text ?? ""}`
      ))
    return texts.join("\n")
  }).pipe(Effect.provide(postgresClient(Redacted.make(databaseUrl), 1)), Effect.orDie)

const everyEvent = (database: string) =>
  Effect.promise(async () => {
    const client = createClient({ url: inject("clickhouseUrl") })
    const query = (query: string) =>
      client.query({ query, query_params: { database }, format: "JSONEachRow" }).then((answer) => answer.text())
    const tables = Schema.decodeUnknownSync(Schema.Array(Schema.parseJson(Schema.Struct({ name: Schema.String }))))(
      (await query(
        "SELECT name FROM system.tables WHERE database = {database:String} AND engine NOT LIKE '%View'"
      )).trim().split("\n")
    )
    const texts: Array<string> = []
    for (const { name } of tables) texts.push(`${name}\n${await query(`SELECT * FROM "${database}"."${name}"`)}`)
    await client.command({ query: `DROP DATABASE "${database}"` })
    await client.close()
    return texts.join("\n")
  })

const passwordIn = (url: string) => decodeURIComponent(new URL(url).password)

describe("secrets", () => {
  it.scopedLive("are found in no log, trace, error, audit entry or metric, nor in the stores", () =>
    Effect.gen(function*() {
      const canaries = new Canaries()
      const databaseUrl = yield* freshDatabase
      const database = `secrets_${randomBytes(6).toString("hex")}`
      const refusing = yield* receiver(401)
      const collector = yield* receiver(200)
      const adminPassword = canaries.plant("password of admin")
      const key = randomBytes(32).toString("base64")
      canaries.keep("NETOPS_SECRET_KEY", key)
      canaries.keep("password of Postgres", passwordIn(databaseUrl))
      canaries.keep("password of ClickHouse", passwordIn(inject("clickhouseUrl")))
      const { console, lines } = yield* capture
      const node = yield* Effect.withConsole(
        startNode({ database, databaseUrl }, {
          NETOPS_ADMIN_PASSWORD: adminPassword,
          NETOPS_SECRET_KEY: key,
          NETOPS_LOG_FORMAT: "json",
          NETOPS_LOG_LEVEL: "All",
          NETOPS_CLUSTER: "0",
          NETOPS_ALLOW_PRIVATE_TARGETS: "true",
          NETOPS_LOGINS_PER_MINUTE: "1000",
          NETOPS_LOCKOUT_FAILURES: "1000",
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url
        }),
        console
      )
      const { ask, errors } = caller(node.url)
      const login = (username: string, password: string) =>
        ask("POST", "/api/auth/login", { body: { username, password } })

      const session = canaries.keep("session token", (yield* login("admin", adminPassword)).json.token)
      const asAdmin = (method: string, path: string, sent: Sent = {}) => ask(method, path, { token: session, ...sent })

      // A password where the username belongs, and bodies that are not what they should be.
      yield* login(canaries.plant("password typed as username"), "x")
      yield* login("admin", canaries.plant("wrong password"))
      yield* ask("POST", "/api/auth/login", { text: `{"username":"admin","password":"${canaries.plant("cut body")}` })
      yield* ask("POST", "/api/auth/login", { text: `{"username":"admin","password":${canaries.plant("bare word")}}` })
      yield* ask("POST", "/api/auth/login", { body: { username: "admin", password: [canaries.plant("in a list")] } })
      yield* ask("POST", "/api/auth/login", {
        body: { username: "admin", password: canaries.plant("long").repeat(20) }
      })
      yield* ask("GET", "/api/actions", { token: canaries.plant("unknown token") })
      yield* ask("GET", "/api/actions", { headers: { authorization: `Basic ${canaries.plant("other scheme")}` } })
      yield* ask("GET", `/api/events?token=${canaries.plant("token in a query")}`)
      yield* asAdmin("POST", "/api/auth/password", {
        body: {
          currentPassword: canaries.plant("wrong current password"),
          newPassword: canaries.plant("unused password")
        }
      })

      const userPassword = canaries.plant("password of a user")
      const created = yield* asAdmin("POST", "/api/users", {
        body: { username: "canary", role: "operator", password: userPassword },
        headers: { "Idempotency-Key": "canary-user" }
      })
      assert.strictEqual(created.status, 201, created.text)
      yield* asAdmin("POST", "/api/users", { body: { username: "canary", role: "operator", password: "short" } })
      const nextPassword = canaries.plant("new password of a user")
      const patched = yield* asAdmin("PATCH", `/api/users/${created.json.id}`, { body: { password: nextPassword } })
      assert.strictEqual(patched.status, 200, patched.text)

      const apiToken = yield* asAdmin("POST", "/api/auth/tokens", { body: { name: "ci", scopes: ["metrics:read"] } })
      assert.strictEqual(apiToken.status, 201, apiToken.text)
      const scoped = canaries.keep("API token", apiToken.json.token)
      yield* ask("GET", "/api/users", { token: scoped })

      // A second factor, by code and by recovery code, wrong ones between.
      const user = canaries.keep("session of the user", (yield* login("canary", nextPassword)).json.token)
      const offer = yield* ask("POST", "/api/auth/mfa/enroll", { token: user })
      const secret = canaries.keep("TOTP secret", offer.json.secret)
      yield* ask("POST", "/api/auth/mfa/confirm", { token: user, body: { code: canaries.plant("wrong code") } })
      const code = totpCode(Redacted.make(secret), Date.now())
      const confirmed = yield* ask("POST", "/api/auth/mfa/confirm", { token: user, body: { code } })
      assert.strictEqual(confirmed.status, 200, confirmed.text)
      const recovery = confirmed.json.recoveryCodes as ReadonlyArray<string>
      for (const [index, recoveryCode] of recovery.entries()) canaries.keep(`recovery code ${index}`, recoveryCode)
      const mfaToken = canaries.keep("MFA token", (yield* login("canary", nextPassword)).json.mfaToken)
      yield* ask("POST", "/api/auth/mfa/verify", {
        body: { mfaToken, recoveryCode: canaries.plant("no recovery code") }
      })
      const verified = yield* ask("POST", "/api/auth/mfa/verify", { body: { mfaToken, recoveryCode: recovery[0] } })
      assert.strictEqual(verified.status, 200, verified.text)
      canaries.keep("session after recovery", verified.json.token)

      // A channel whose receiver refuses it and sends its credentials back.
      const channel = {
        type: "http",
        uri: `${refusing.url}/in`,
        auth: { strategy: "bearer", token: canaries.plant("token of the channel") },
        request: { retry_attempts: 1, headers: { "X-Api-Key": canaries.plant("header of the channel") } },
        tls: { key_pass: canaries.plant("passphrase of the channel") }
      }
      const put = (body: unknown) => asAdmin("PUT", "/api/notifications/channels/log-pipeline", { body })
      const applied = yield* put(channel)
      assert.strictEqual(applied.status, 200, applied.text)
      yield* put({ ...channel, uri: `http://u:${canaries.plant("password in an address")}@127.0.0.1/` })
      yield* put({ ...channel, auth: { strategy: "basic", user: "a:b", password: canaries.plant("basic password") } })
      yield* put({ ...channel, tls: { key_file: `-----BEGIN PRIVATE KEY-----\n${canaries.plant("private key")}` } })
      yield* asAdmin("POST", "/api/notifications/channels/log-pipeline/test")
      const rule = yield* asAdmin("POST", "/api/notifications/rules", { body: { name: "all", group_wait: "0s" } })
      assert.strictEqual(rule.status, 201, rule.text)
      yield* login("canary", "wrong again")
      yield* asAdmin("POST", "/api/feedback", { body: { category: "bug", message: "m" } })

      const shown = [
        ...(yield* Effect.forEach([
          "/api/audit?limit=1000",
          "/api/users",
          "/api/auth/sessions",
          "/api/auth/tokens",
          "/api/events?limit=1000",
          "/api/notifications/deliveries",
          "/metrics"
        ], (path) => asAdmin("GET", path))),
        applied,
        created,
        patched
      ].map(({ status, text }) => {
        assert.isBelow(status, 300, text)
        return text
      })
      const channelStatus = yield* asAdmin("GET", "/api/notifications/channels/log-pipeline")
      yield* Effect.withConsole(node.stop, console)
      yield* Effect.suspend(() => collector.got.length > 0 ? Effect.void : Effect.fail("no traces")).pipe(
        Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 200 })
      )

      const log = lines.join("\n")
      assert.include(log, "sign-in")
      assert.include(log, "\"logLevel\":\"DEBUG\"")
      assert.include(shown[0], "users.create")
      canaries.assertNoneIn("the log", log)
      // Traces tell the whole address of a request; no token is ever taken from there.
      canaries.assertNoneIn("the traces", collector.got.join("\n"), "token in a query")
      canaries.assertNoneIn("an error", errors.join("\n"))
      for (const text of shown) canaries.assertNoneIn("an answer", text)
      canaries.assertNoneIn("the channel", channelStatus.text)
      canaries.assertNoneIn("Postgres", yield* everyRow(databaseUrl))
      canaries.assertNoneIn("ClickHouse", yield* everyEvent(database))
    }))

  it.scopedLive("are not told by a start that fails of them", () =>
    Effect.gen(function*() {
      const canaries = new Canaries()
      const databaseUrl = yield* freshDatabase
      const wrongLogin = new URL(databaseUrl)
      wrongLogin.password = canaries.plant("wrong password of Postgres")
      const settings: ReadonlyArray<Readonly<Record<string, string>>> = [
        { NETOPS_SECRET_KEY: canaries.plant("no key") },
        { DATABASE_URL: `postgres//netops:${canaries.plant("broken address of Postgres")}@127.0.0.1/netops` },
        { DATABASE_URL: wrongLogin.href },
        { CLICKHOUSE_URL: `ftp://netops:${canaries.plant("broken address of ClickHouse")}@127.0.0.1/netops` },
        { CLICKHOUSE_URL: `http://netops:${canaries.plant("wrong password of ClickHouse")}@127.0.0.1:1/netops` },
        { NETOPS_ADMIN_PASSWORD: `${canaries.plant("password that is too long")}${"x".repeat(1000)}` }
      ]
      const { console, lines } = yield* capture
      for (const more of settings) {
        const exit = yield* Effect.exit(Effect.withConsole(
          Effect.scoped(startNode({ database: "never", databaseUrl }, { NETOPS_LOG_LEVEL: "All", ...more })),
          console
        ))
        assert.isTrue(Exit.isFailure(exit), JSON.stringify(Object.keys(more)))
        if (Exit.isFailure(exit)) {
          canaries.assertNoneIn("a failure", `${Cause.pretty(exit.cause)} ${String(exit.cause)}`)
        }
      }
      canaries.assertNoneIn("the log", lines.join("\n"))
    }))
})
