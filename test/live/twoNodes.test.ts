import { Command } from "@effect/cli"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Clock, ConfigProvider, Context, Effect, Layer, Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { user } from "../../src/cli/user.ts"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { totpCode } from "../../src/services/Totp.ts"
import { startChild } from "../support/childProcess.ts"
import { ClickHouseTest, freshDatabase } from "../support/engines.ts"

const cli = "../../src/cli.ts"
const adminPassword = randomBytes(12).toString("hex")
const lockoutFailures = 12

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-node-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

interface Sent {
  readonly token?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const ask = (node: string, method: string, path: string, { body, headers, token }: Sent = {}) =>
  Effect.promise(async () => {
    const answer = await fetch(`${node}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) }
  })

const login = (node: string, username: string, password: string) =>
  ask(node, "POST", "/api/auth/login", { body: { username, password } })

/** Two processes of the service on one Postgres and one ClickHouse. */
class Nodes extends Context.Tag("test/Nodes")<
  Nodes,
  {
    readonly a: string
    readonly b: string
    readonly admin: string
    readonly env: Readonly<Record<string, string>>
    readonly output: () => string
  }
>() {}

const NodesLive = Layer.scoped(
  Nodes,
  Effect.gen(function*() {
    const shared = {
      DATABASE_URL: yield* freshDatabase,
      CLICKHOUSE_URL: inject("clickhouseUrl"),
      NETOPS_CLICKHOUSE_DATABASE: (yield* ClickHouse).database,
      NETOPS_CLUSTER: "1",
      NETOPS_SECRET_KEY: randomBytes(32).toString("base64"),
      NETOPS_ADMIN_PASSWORD: adminPassword,
      NETOPS_LOGINS_PER_MINUTE: "10000",
      NETOPS_LOCKOUT_FAILURES: String(lockoutFailures),
      NETOPS_LOG_LEVEL: "WARN"
    }
    const node = Effect.gen(function*() {
      const port = yield* freePort
      const env = { ...shared, PORT: String(port), HOST: "127.0.0.1", NETOPS_DATA_DIR: yield* directory }
      const child = yield* startChild(cli, env, { args: ["serve"] })
      return { url: `http://127.0.0.1:${port}`, child }
    })
    const [a, b] = yield* Effect.all([node, node], { concurrency: "unbounded" })
    const serving = (url: string) =>
      Effect.tryPromise(() => fetch(`${url}/health/live`)).pipe(
        Effect.retry(Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(400))),
        Effect.orDieWith(() => new Error(`${a.child.output()}\n${b.child.output()}`))
      )
    yield* Effect.all([serving(a.url), serving(b.url)], { concurrency: "unbounded" })
    const { json } = yield* login(a.url, "admin", adminPassword)
    return {
      a: a.url,
      b: b.url,
      admin: json.token as string,
      env: shared,
      output: () => a.child.output() + b.child.output()
    }
  })
).pipe(Layer.provide(ClickHouseTest), Layer.orDie)

const password = "the password of somebody"

/** Creates a user on the first node. */
const newUser = Effect.fnUntraced(function*(username: string, role = "viewer") {
  const { a, admin } = yield* Nodes
  const { json, status } = yield* ask(a, "POST", "/api/users", { token: admin, body: { username, role, password } })
  assert.strictEqual(status, 201)
  return json.id as number
})

const tokenOf = (node: string, username: string) =>
  Effect.map(login(node, username, password), ({ json }) => json.token as string)

const statusesOf = (node: string, token: string, count: number) =>
  Effect.all(times(count).map(() => Effect.map(ask(node, "GET", "/api/auth/me", { token }), ({ status }) => status)), {
    concurrency: 20
  })

describe("two processes on one Postgres", () => {
  layer(NodesLive, { timeout: "150 seconds", excludeTestServices: true })((it) => {
    it.effect("a logout answered by one is known to the other: 0 of 200 requests pass", () =>
      Effect.gen(function*() {
        const { a, b } = yield* Nodes
        yield* newUser("lea")
        const token = yield* tokenOf(a, "lea")
        assert.deepStrictEqual(new Set(yield* statusesOf(b, token, 20)), new Set([200]))
        assert.strictEqual((yield* ask(a, "POST", "/api/auth/logout", { token })).status, 200)
        const passed = (yield* statusesOf(b, token, 200)).filter((status) => status !== 401)
        assert.deepStrictEqual(passed, [])
      }))

    it.effect("an API token deleted on one is refused by the other", () =>
      Effect.gen(function*() {
        const { a, admin, b } = yield* Nodes
        const created = yield* ask(a, "POST", "/api/auth/tokens", {
          token: admin,
          body: { name: "ci", scopes: ["metrics:read"] }
        })
        const { id, token } = created.json
        assert.deepStrictEqual(new Set(yield* statusesOf(b, token, 20)), new Set([200]))
        assert.strictEqual((yield* ask(a, "DELETE", `/api/auth/tokens/${id}`, { token: admin })).status, 200)
        assert.deepStrictEqual(new Set(yield* statusesOf(b, token, 100)), new Set([401]))
      }))

    it.effect("failures are counted over both", () =>
      Effect.gen(function*() {
        const { a, b } = yield* Nodes
        yield* newUser("max")
        for (const index of times(lockoutFailures)) {
          assert.strictEqual((yield* login(index % 2 === 0 ? a : b, "max", "wrong")).status, 401)
        }
        for (const node of [a, b]) {
          const locked = yield* login(node, "max", password)
          assert.strictEqual(locked.status, 429)
          assert.isAbove(Number(locked.headers.get("retry-after")), 800)
        }
      }))

    it.effect("an IP restriction made on one binds on the other within a second", () =>
      Effect.gen(function*() {
        const { a, b } = yield* Nodes
        yield* newUser("ida")
        const token = yield* tokenOf(a, "ida")
        const body = { type: "deny", network: "127.0.0.0/8", force: true }
        for (const node of [a, b]) assert.strictEqual((yield* ask(node, "GET", "/api/auth/me", { token })).status, 200)
        const made = yield* ask(a, "POST", "/api/ip-restrictions", { token, body })
        const madeAt = yield* Clock.currentTimeMillis
        assert.strictEqual(made.status, 201)
        assert.strictEqual((yield* ask(a, "GET", "/api/auth/me", { token })).status, 403)
        let lastPassed = madeAt
        while (true) {
          const began = yield* Clock.currentTimeMillis
          const { status } = yield* ask(b, "GET", "/api/auth/me", { token })
          if (status === 403) break
          assert.strictEqual(status, 200)
          lastPassed = began
          assert.isBelow(lastPassed - madeAt, 1000)
        }
        yield* Effect.logInfo(`the last request that passed on the other node began ${lastPassed - madeAt} ms later`)
      }))

    it.effect("a code that is used on both at once passes once", () =>
      Effect.gen(function*() {
        const { a, b } = yield* Nodes
        yield* newUser("tom")
        const token = yield* tokenOf(a, "tom")
        const { secret } = (yield* ask(a, "POST", "/api/auth/mfa/enroll", { token })).json
        const codeIn = (millis: number) =>
          Effect.map(Clock.currentTimeMillis, (now) => totpCode(Redacted.make(secret as string), now + millis))
        const confirmed = yield* ask(a, "POST", "/api/auth/mfa/confirm", { token, body: { code: yield* codeIn(0) } })
        assert.strictEqual(confirmed.status, 200)
        const pending = yield* Effect.all(
          times(10).map((index) => {
            const node = index % 2 === 0 ? a : b
            return Effect.map(login(node, "tom", password), ({ json }) => ({ node, mfaToken: json.mfaToken as string }))
          }),
          { concurrency: 4 }
        )
        const code = yield* codeIn(30_000)
        const statuses = yield* Effect.all(
          pending.map(({ mfaToken, node }) =>
            Effect.map(ask(node, "POST", "/api/auth/mfa/verify", { body: { mfaToken, code } }), ({ status }) => status)
          ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...statuses].sort(), [200, ...times(9).map(() => 400)])
      }))

    it.effect("of requests to both under one key or one ETag one acts", () =>
      Effect.gen(function*() {
        const { a, admin: token, b } = yield* Nodes
        const both = <A>(request: (node: string) => Effect.Effect<A>) =>
          Effect.all(times(20).map((index) => request(index % 2 === 0 ? a : b)), { concurrency: "unbounded" })
        const rule = { name: "once", threshold: { min_requests: 1 } }
        const headers = { "idempotency-key": "both" }
        const made = yield* both((node) => ask(node, "POST", "/api/automation/rules", { token, body: rule, headers }))
        const ids = new Set(made.filter(({ status }) => status !== 409).map(({ json }) => json.id as string))
        assert.strictEqual(ids.size, 1, made[0]!.text)
        assert.strictEqual((yield* ask(b, "GET", "/api/automation/rules", { token })).json.total, 1)
        const path = `/api/automation/rules/${[...ids][0]!}`
        const match = { "if-match": (yield* ask(a, "GET", path, { token })).headers.get("etag")! }
        const changed = yield* both((node) => ask(node, "PUT", path, { token, body: rule, headers: match }))
        const statuses = changed.map(({ status }) => status).sort()
        assert.deepStrictEqual(statuses, [200, ...times(19).map(() => 412)])
      }))

    it.effect("what is done at the console is recorded, without its secrets", () =>
      Effect.gen(function*() {
        const { admin: token, b, env } = yield* Nodes
        const typed = "typed at the console"
        const child = yield* startChild(cli, env, {
          args: ["user", "add", "eva", "--role", "operator"],
          input: `${typed}\n`
        })
        assert.strictEqual(yield* child.ended, 0, child.output())
        assert.strictEqual((yield* login(b, "eva", typed)).status, 200)

        const configured = ConfigProvider.fromMap(new Map(Object.entries(env)))
        const run = (...args: ReadonlyArray<string>) =>
          Command.run(user, { name: "netops", version: "0" })(["node", "netops", ...args]).pipe(
            Effect.provide(NodeContext.layer),
            Effect.withConfigProvider(configured)
          )
        yield* run("unlock", "max")
        assert.property((yield* login(b, "max", password)).json, "token")
        yield* run("reset-mfa", "tom")
        assert.property((yield* login(b, "tom", password)).json, "token")
        const audit = yield* ask(b, "GET", "/api/audit?limit=1000", { token })
        const acts = (audit.json.items as ReadonlyArray<any>).filter(({ username }) => username?.startsWith("cli:"))
        assert.sameMembers(
          acts.map(({ after, operation }) => `${operation} ${after.username}`),
          ["cli.user.add eva", "cli.user.unlock max", "cli.user.reset-mfa tom"]
        )
        for (const secret of [typed, password, adminPassword]) assert.notInclude(audit.text, secret)
        assert.include(audit.text, "system:start")
        assert.isTrue((yield* ask(b, "GET", "/api/audit/verify", { token })).json.valid)
      }).pipe(Effect.scoped))
  })
})
