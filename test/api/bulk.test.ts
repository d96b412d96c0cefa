import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, TestClock } from "effect"
import { JobId } from "../../src/schema/BulkJob.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { matchDigest } from "../../src/services/bulkDigest.ts"
import { BulkJobs } from "../../src/services/BulkJobs.ts"
import { type Answer, assertProblem, call, callJson } from "../support/client.ts"
import { beginning, Callers, TestApi } from "../support/testApi.ts"

const bulk = "/api/actions/bulk"
const mac = (n: number) => `02:bd:00:00:01:${n.toString(16).padStart(2, "0")}`
const macs = (count: number, from = 0) => Array.from({ length: count }, (_, n) => mac(from + n))

const operator = Effect.map(Callers, ({ token }) => token.operator)
const post = (path: string, value: unknown) =>
  Effect.flatMap(operator, (token) => callJson("POST", `${bulk}${path}`, value, token))
const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(operator, (token) => call("GET", `${bulk}${path}`, { token, headers, toEnd: true }))

const observe = (clients: ReadonlyArray<string>, fields: object = {}) =>
  Effect.gen(function*() {
    const at = DateTime.formatIso(DateTime.subtract(beginning, { minutes: 1 }))
    const body = clients.map((client_mac) =>
      JSON.stringify({ event_time: at, protocol: "dhcpv4", message_type: "discover", client_mac, ...fields })
    ).join("\n")
    const headers = { "content-type": "application/x-ndjson" }
    const answer = yield* call("POST", "/api/dhcp/events", { token: yield* operator, headers, body })
    assert.strictEqual(answer.json.accepted, clients.length)
  })

const preview = (criteria: object, action: unknown = "block") => post("/preview", { action, criteria })

/** Previews, and carries out what was previewed. */
const execute = Effect.fnUntraced(function*(criteria: object, action: unknown = "block", more: object = {}) {
  const { json } = yield* preview(criteria, action)
  const { criteria_hash, match_digest } = json
  return yield* post("/execute", { action, criteria, criteria_hash, match_digest, reason: "as asked", ...more })
})

/** Works a job off as a node would. */
const workOff = (id: string, steps = Infinity) =>
  Effect.gen(function*() {
    const jobs = yield* BulkJobs
    for (let step = 0; step < steps; step++) {
      if ((yield* jobs.step(JobId.make(id), yield* DateTime.now, 2)) === null) return
    }
  })

const jobOf = (id: string) => Effect.map(get(`/jobs/${id}`), ({ json }) => json)
const eventsOf = ({ text }: Answer) =>
  text.split("\n\n").filter((event) => event.startsWith("event:")).map((event) => {
    const [kind, id, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2))
    return { id, kind, job: JSON.parse(data!) }
  })

describe("bulk preview", () => {
  layer(TestApi)((it) => {
    it.effect("answers what the specification names, and finds clients by what they did", () =>
      Effect.gen(function*() {
        yield* observe(macs(12))
        yield* observe([mac(20)], { hostname: "printer" })
        const { json, status } = yield* preview({ mac_prefixes: ["02-BD-00-00-01"] })
        assert.strictEqual(status, 200)
        assert.deepInclude(json, { total_count: 13, exceeds_limit: false, max_limit: 10_000, skipped_without_mac: 0 })
        assert.deepStrictEqual(json.sample_macs, macs(10))
        assert.deepStrictEqual(json.sample_clients.map(({ client_mac }: any) => client_mac), macs(10))
        assert.match(json.criteria_hash, /^sha256:[0-9a-f]{64}$/)
        const named = yield* post("/preview", { hostnames: ["PRINTER"], comment: "at the top level" })
        assert.deepStrictEqual(named.json.sample_macs, [mac(20)])
        const same = yield* preview({ mac_prefixes: ["02:bd:00:00:01", "02bd00.0001"] }, { type: "block" })
        assert.strictEqual(same.json.criteria_hash, json.criteria_hash)
      }))

    it.effect("refuses criteria that choose nothing, or that it doesn't know", () =>
      Effect.gen(function*() {
        for (
          const body of [
            {},
            { action: "block" },
            { action: "block", criteria: {} },
            { criteria: { hostname: ["x"] } },
            { hostname: ["x"] },
            { criteria: { all: false } },
            { criteria: { macs: [] } },
            { criteria: { filter: { match: "all", rules: [] } } },
            { criteria: { all: true }, macs: [mac(1)] },
            { criteria: { macs: ["not a mac"] } },
            { action: "explode", criteria: { all: true } }
          ]
        ) assertProblem(yield* post("/preview", body), 400, "invalid-request")
        assertProblem(yield* callJson("POST", `${bulk}/preview`, { all: true }), 401, "unauthenticated")
        const { token } = yield* Callers
        assertProblem(yield* callJson("POST", `${bulk}/preview`, { all: true }, token.auditor), 403, "forbidden")
      }))
  })
})

describe("bulk execute", () => {
  layer(TestApi)((it) => {
    it.effect("acts on those previewed, logs each, and undoes it", () =>
      Effect.gen(function*() {
        const criteria = { macs: macs(5) }
        const answer = yield* execute(criteria, { type: "block" }, { duration_minutes: 60 })
        assert.strictEqual(answer.status, 202)
        const { id } = answer.json
        assert.strictEqual(answer.headers["location"], `${bulk}/jobs/${id}`)
        assert.deepInclude(answer.json, { status: "running", total: 5, processed: 0, reason: "as asked" })
        yield* workOff(id)
        assert.deepInclude(yield* jobOf(id), { status: "completed", processed: 5, succeeded: 5, skipped: 0, failed: 0 })
        const items = yield* get(`/jobs/${id}/items?limit=3`)
        assert.deepStrictEqual(items.json.items.map((item: any) => [item.client, item.detail]), [
          [mac(0), "created"],
          [mac(1), "created"],
          [mac(2), "created"]
        ])
        const rest = yield* get(`/jobs/${id}/items?limit=3&cursor=${items.json.next}`)
        assert.deepStrictEqual([rest.json.items.length, rest.json.next, rest.json.total], [2, null, 5])
        const undo = yield* post(`/jobs/${id}/undo`, {})
        assert.strictEqual(undo.status, 202)
        assert.deepInclude(undo.json, { kind: "undo", undo_of: id, total: 5 })
        yield* workOff(undo.json.id)
        const active = yield* call("GET", "/api/actions?status=active", { token: yield* operator })
        assert.deepStrictEqual(active.json.items, [])
        assertProblem(yield* post(`/jobs/${id}/undo`, {}), 400, "job-not-undoable")
        assertProblem(yield* post(`/jobs/${undo.json.id}/undo`, {}), 400, "job-not-undoable")
      }))

    it.effect("refuses another hash, another set of clients, an old preview and too many", () =>
      Effect.gen(function*() {
        yield* observe(macs(2, 40), { hostname: "phone" })
        const criteria = { hostnames: ["phone"] }
        const { json: { criteria_hash, match_digest } } = yield* preview(criteria)
        const body = { action: "block", criteria, criteria_hash, match_digest, reason: "as asked" }
        assertProblem(yield* post("/execute", { ...body, criteria_hash: undefined }), 400, "invalid-request")
        assertProblem(yield* post("/execute", { ...body, reason: undefined }), 400, "invalid-request")
        assertProblem(yield* post("/execute", { ...body, action: "allow" }), 400, "criteria-hash-mismatch")
        assertProblem(
          yield* post("/execute", { ...body, criteria: { hostnames: ["fone"] } }),
          400,
          "criteria-hash-mismatch"
        )
        yield* observe([mac(42)], { hostname: "phone" })
        const drifted = assertProblem(yield* post("/execute", body), 409, "preview-stale")
        assert.strictEqual(drifted.total_count, 3)
        const expired = matchDigest(macs(3, 40), 3, DateTime.toEpochMillis(beginning) / 1000 - 1)
        const late = assertProblem(yield* post("/execute", { ...body, match_digest: expired }), 409, "preview-stale")
        assert.isNull(late.total_count)
        const { token } = yield* Callers
        assertProblem(yield* callJson("POST", `${bulk}/execute`, body, token.viewer), 403, "forbidden")
        assert.strictEqual((yield* get("/jobs?status=running")).json.total, 0)
      }))

    it.effect("refuses more clients than a job may have", () =>
      Effect.gen(function*() {
        const many = Array.from(
          { length: 10_001 },
          (_, n) => `06:00:00:00:${(n >> 8).toString(16).padStart(2, "0")}:${(n & 255).toString(16).padStart(2, "0")}`
        )
        yield* observe(many)
        const criteria = { mac_prefixes: ["06:00"] }
        assert.deepInclude((yield* preview(criteria)).json, { total_count: 10_001, exceeds_limit: true })
        const refused = assertProblem(yield* execute(criteria), 400, "bulk-limit-exceeded")
        assert.deepInclude(refused, { total_count: 10_001, max_limit: 10_000 })
      }))

    it.effect("makes one job of one key, and leaves the never-block list alone", () =>
      Effect.gen(function*() {
        const token = yield* operator
        yield* callJson("POST", "/api/actions/protected", { mac: mac(61), comment: "gateway" }, token)
        const criteria = { macs: macs(3, 60) }
        const { json: { criteria_hash } } = yield* preview(criteria)
        const body = JSON.stringify({ action: "block", criteria, criteria_hash, reason: "as asked" })
        const headers = { "idempotency-key": "job-1" }
        const first = yield* call("POST", `${bulk}/execute`, { token, headers, body })
        const second = yield* call("POST", `${bulk}/execute`, { token, headers, body })
        assert.deepStrictEqual([second.status, second.json.id], [202, first.json.id])
        assert.strictEqual(second.headers["idempotent-replayed"], "true")
        const other = body.replace("as asked", "otherwise")
        assertProblem(
          yield* call("POST", `${bulk}/execute`, { token, headers, body: other }),
          422,
          "idempotency-key-reused"
        )
        yield* workOff(first.json.id)
        assert.deepInclude(yield* jobOf(first.json.id), { status: "partial", succeeded: 2, skipped: 1 })
        const { json } = yield* get(`/jobs/${first.json.id}/items`)
        assert.deepStrictEqual(json.items.map(({ detail }: any) => detail), ["created", "protected", "created"])
        const { items } = yield* (yield* AuditTrail).list({ limit: 100, operation: "bulk.execute" })
        assert.strictEqual(items.filter(({ target }) => target === first.json.id).length, 1)
      }))
  })
})

describe("bulk jobs", () => {
  layer(TestApi)((it) => {
    it.effect("cancels what is scheduled or running, and answers 400 to what has ended", () =>
      Effect.gen(function*() {
        const later = DateTime.formatIso(DateTime.add(yield* DateTime.now, { hours: 1 }))
        const scheduled = yield* execute({ macs: macs(4) }, "block", { scheduled_at: later })
        assert.deepInclude(scheduled.json, { status: "scheduled", scheduled_at: later, started_at: null })
        const running = yield* execute({ macs: macs(4) })
        yield* workOff(running.json.id, 1)
        for (const [{ json: { id } }, processed] of [[scheduled, 0], [running, 2]] as const) {
          const cancelled = yield* call("POST", `${bulk}/jobs/${id}/cancel`, { token: yield* operator })
          assert.strictEqual(cancelled.status, 200)
          assert.deepStrictEqual(cancelled.json, { success: true, job_id: id, status: "cancelled" })
          yield* workOff(id)
          assert.deepInclude(yield* jobOf(id), { status: "cancelled", processed })
          const again = assertProblem(yield* post(`/jobs/${id}/cancel`, { any: "thing" }), 400, "job-not-cancellable")
          assert.strictEqual(again.job_status, "cancelled")
        }
        const finished = yield* execute({ macs: macs(2, 10) })
        yield* workOff(finished.json.id)
        const late = assertProblem(yield* post(`/jobs/${finished.json.id}/cancel`, {}), 400, "job-not-cancellable")
        assert.strictEqual(late.job_status, "completed")
        const list = yield* get("/jobs?status=cancelled")
        assert.deepStrictEqual(
          list.json.items.map(({ id }: any) => id).sort(),
          [scheduled.json.id, running.json.id].sort()
        )
      }))

    it.effect("answers 404 to what isn't a job, whatever its form, and 401 without a token", () =>
      Effect.gen(function*() {
        for (const id of ["7d4c1a0e-0000-4000-8000-000000000000", "nonsense"]) {
          assertProblem(yield* post(`/jobs/${id}/cancel`, {}), 404, "not-found")
          assertProblem(yield* post(`/jobs/${id}/undo`, {}), 404, "not-found")
          for (const path of ["", "/items", "/events"]) {
            assertProblem(yield* get(`/jobs/${id}${path}`), 404, "not-found")
          }
          assertProblem(yield* callJson("POST", `${bulk}/jobs/${id}/cancel`, {}), 401, "unauthenticated")
        }
        assertProblem(yield* get("/jobs?cursor=nonsense"), 400, "invalid-request")
        assertProblem(yield* get("/jobs?status=nonsense"), 400, "invalid-request")
      }))

    it.effect("tells its progress as events, and goes on after the last one seen", () =>
      Effect.gen(function*() {
        const { json: { id } } = yield* execute({ macs: macs(4, 80) })
        const following = yield* Effect.fork(get(`/jobs/${id}/events`))
        const tick = TestClock.adjust("1 second").pipe(Effect.repeatN(3))
        yield* tick
        yield* workOff(id, 1)
        yield* tick
        yield* workOff(id)
        yield* tick
        const answer = yield* Fiber.join(following)
        assert.include(answer.headers["content-type"], "text/event-stream")
        const events = eventsOf(answer)
        assert.deepStrictEqual(
          events.map(({ id, job, kind }) => [id, kind, job.processed]),
          [["running-0", "progress", 0], ["running-2", "progress", 2], ["completed-4", "end", 4]]
        )
        const resumed = yield* get(`/jobs/${id}/events`, { "last-event-id": "running-2" })
        assert.deepStrictEqual(eventsOf(resumed).map(({ kind }) => kind), ["end"])
        const seen = yield* get(`/jobs/${id}/events`, { "last-event-id": "completed-4" })
        assert.deepStrictEqual([seen.status, seen.text], [204, ""])
      }))
  })
})
