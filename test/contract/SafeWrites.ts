import { type HttpClient, OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, type Layer, type Redacted } from "effect"
import { Api, endpoints } from "../../src/api/Api.ts"
import { assertProblem, call } from "../support/client.ts"
import { beginning, Callers } from "../support/testApi.ts"

type Token = Redacted.Redacted
type Made<A> = (token: Token) => Effect.Effect<A, never, HttpClient.HttpClient>

const send = (method: string, path: string, value: unknown, token: Token, headers: Record<string, string> = {}) =>
  call(method, path, { token, headers, ...(value === undefined ? {} : { body: JSON.stringify(value) }) })

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const created = (path: string, value: unknown) => (token: Token) =>
  Effect.map(send("POST", path, value, token), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.headers["location"]!
  })

const rules = "/api/automation/rules"
const configs = "/api/v1/nftables/configs"
const restrictions = "/api/ip-restrictions"

const rule = { name: "busy", threshold: { min_requests: 1 } }
const restriction = { type: "deny", network: "203.0.113.0/24" }
// Its keys are named as secrets often are: they are nft's own language, and come back as they were sent.
const configOf = (table: string) => ({
  name: "edge",
  ruleset: {
    nftables: [
      { add: { table: { family: "inet", name: table } } },
      { add: { chain: { family: "inet", table, name: "in", type: "filter", hook: "input", prio: 0 } } },
      {
        add: {
          rule: {
            family: "inet",
            table,
            chain: "in",
            expr: [{ match: { op: "==", left: { meta: { key: "iifname" } }, right: "lo" } }, { accept: null }]
          }
        }
      }
    ]
  }
})
const config = configOf("fw")

let count = 0

const aRule = created(rules, rule)
const aConfig: Made<string> = (token) => created(configs, configOf(`fw${count++}`))(token)
const aRestriction = created(restrictions, restriction)
const aUser: Made<string> = (token) =>
  created("/api/users", { username: `user${count++}`, role: "viewer", password: "correct horse battery" })(token)

const pending: Made<string> = (token) =>
  Effect.tap(aConfig(token), (path) => send("POST", `${path}/apply`, { confirm_timeout_seconds: 600 }, token))

const deleted: Made<string> = (token) => Effect.tap(aConfig(token), (path) => send("DELETE", path, undefined, token))

const client = "02:bd:00:00:00:01"

const observed = (token: Token) =>
  call("POST", "/api/dhcp/events", {
    token,
    headers: { "content-type": "application/x-ndjson" },
    body: JSON.stringify({
      event_time: DateTime.formatIso(DateTime.subtract(beginning, { minutes: 1 })),
      protocol: "dhcpv4",
      message_type: "discover",
      client_mac: client
    })
  })

const alarm: Made<string> = (token) =>
  Effect.gen(function*() {
    yield* observed(token)
    yield* send("POST", `${yield* aRule(token)}/run`, {}, token)
    const { items } = (yield* call("GET", "/api/automation/alarms", { token })).json
    return `/api/automation/alarms/${items[0].id}`
  })

const order = (mac: string) => ({ type: "tag", tag: "seen", client: mac, reason: "why" })

const bulk = "/api/actions/bulk"
const choice = { action: { type: "tag", tag: "seen" }, criteria: { macs: [client] } }

/** What carries out a bulk action, as a preview allows it. */
const execution = (reason: string): Made<unknown> => (token) =>
  Effect.gen(function*() {
    yield* observed(token)
    const { criteria_hash } = (yield* send("POST", `${bulk}/preview`, choice, token)).json
    return { ...choice, criteria_hash, reason }
  })

const aJob: Made<string> = (token) =>
  Effect.gen(function*() {
    const { json } = yield* send("POST", `${bulk}/execute`, yield* execution("why")(token), token)
    return `${bulk}/jobs/${json.id}`
  })

const aCancelledJob: Made<string> = (token) =>
  Effect.tap(aJob(token), (path) => send("POST", `${path}/cancel`, {}, token))

/** A POST: where it goes, what it sends, and another body that it takes as well. */
interface Post {
  readonly path: Made<string>
  readonly body: unknown
  readonly other: unknown
}

const made = (value: unknown, token: Token) =>
  typeof value === "function" ? (value as Made<unknown>)(token) : Effect.succeed(value)

const fixed = (path: string): Made<string> => () => Effect.succeed(path)
const below = (made: Made<string>, rest: string): Made<string> => (token) =>
  Effect.map(made(token), (path) => path + rest)

/** Every POST that honours `Idempotency-Key`. */
const idempotent: Readonly<Record<string, Post>> = {
  "users.create": {
    path: fixed("/api/users"),
    body: { username: "retry", role: "viewer", password: "correct horse battery" },
    other: { username: "other", role: "viewer", password: "correct horse battery" }
  },
  "automation.createRule": { path: fixed(rules), body: rule, other: { ...rule, name: "other" } },
  "automation.runRule": { path: below(aRule, "/run"), body: {}, other: { dry_run: true } },
  "automation.backfillRule": {
    path: below(aRule, "/backfill"),
    body: { start: "2096-01-01T00:00:00Z", end: "2096-01-02T00:00:00Z" },
    other: { start: "2096-01-01T00:00:00Z", end: "2096-01-03T00:00:00Z" }
  },
  "alarms.acknowledge": { path: below(alarm, "/acknowledge"), body: {}, other: { comment: "mine" } },
  "alarms.resolve": { path: below(alarm, "/resolve"), body: {}, other: { comment: "gone" } },
  "actions.create": {
    path: fixed("/api/actions"),
    body: order("02:bd:00:00:00:11"),
    other: order("02:bd:00:00:00:12")
  },
  "actions.protect": {
    path: fixed("/api/actions/protected"),
    body: { mac: "02:bd:00:00:00:13" },
    other: { mac: "02:bd:00:00:00:14" }
  },
  "actions.cleanup": { path: fixed("/api/actions/sync/cleanup"), body: {}, other: { dry_run: true } },
  "bulk.execute": { path: fixed(`${bulk}/execute`), body: execution("why"), other: execution("another") },
  "bulk.cancel": { path: below(aJob, "/cancel"), body: {}, other: { why: "so" } },
  "bulk.undo": { path: below(aCancelledJob, "/undo"), body: {}, other: { reason: "another" } },
  "firewall.createConfig": { path: fixed(configs), body: config, other: { ...config, name: "other" } },
  "firewall.restoreRevision": { path: below(aConfig, "/revisions/1/restore"), body: {}, other: { why: "so" } },
  "firewall.restoreConfig": { path: below(deleted, "/restore"), body: {}, other: { why: "so" } },
  "firewall.applyConfig": { path: below(aConfig, "/apply"), body: {}, other: { comment: "again" } },
  "firewall.confirmApply": { path: below(pending, "/confirm"), body: {}, other: { why: "so" } },
  "firewall.extendApply": { path: below(pending, "/extend"), body: { seconds: 900 }, other: { seconds: 901 } },
  "firewall.rollbackApply": { path: below(pending, "/rollback"), body: {}, other: { why: "so" } },
  "ipRestrictions.create": { path: fixed(restrictions), body: restriction, other: { ...restriction, enabled: false } },
  "feedback.submit": {
    path: fixed("/api/feedback"),
    body: { category: "bug", message: "it broke" },
    other: { category: "bug", message: "it broke again" }
  }
}

/** Every other POST outside of `/api/auth`, where answers hold secrets and nothing is remembered; and why. */
const repeatable: Readonly<Record<string, string>> = {
  "automation.testPreview": "changes nothing",
  "bulk.preview": "changes nothing",
  "firewall.validate": "changes nothing",
  "ipRestrictions.check": "changes nothing",
  "dhcpEvents.ingest": "takes the key by itself: the events of a stream that comes again are stored once",
  "firewallEvents.ingest": "takes the key by itself: the events of a stream that comes again are stored once"
}

/** Every write to a record that has an `ETag`, with what it sends. */
const conditional: Readonly<Record<string, { readonly path: Made<string>; readonly body?: unknown }>> = {
  "users.update": { path: aUser, body: { role: "auditor" } },
  "automation.updateRule": { path: aRule, body: { ...rule, name: "next" } },
  "automation.deleteRule": { path: aRule },
  "firewall.updateConfig": { path: aConfig, body: { ...config, name: "next" } },
  "firewall.deleteConfig": { path: aConfig },
  "ipRestrictions.update": { path: aRestriction, body: { enabled: false } },
  "ipRestrictions.remove": { path: aRestriction },
  "user.updateSettings": { path: fixed("/api/user/settings"), body: { theme: "dark" } }
}

/** Every other PUT, PATCH and DELETE, and why. */
const unconditional: Readonly<Record<string, string>> = {
  "account.endSession": "a session is never changed, only ended",
  "account.disableMfa": "no record: it takes a fresh code",
  "actions.remove": "an order is never edited, only lifted",
  "actions.removeAll": "no record: what is in force, whatever it is",
  "actions.unprotect": "an entry is never changed, only removed",
  "apiTokens.delete": "a token is never changed, only deleted",
  "retention.change": "no record: limits of single tables, each named in the request, whose sizes change by themselves"
}

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
        const [keyed, matched] = [operationId in idempotent, operationId in conditional]
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
