import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Logger, Ref, Stream, TestClock } from "effect"
import { DhcpEvents, EventStoreFailed } from "../../src/services/DhcpEvents.ts"
import { batchLimits } from "../../src/services/IngestBatches.ts"
import { EventMemory } from "../layers/DhcpEventsMemory.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers, TestApi, testApi } from "../support/testApi.ts"

const ndjson = { "content-type": "application/x-ndjson" }
type Body = NonNullable<Parameters<typeof call>[2]>["body"]

const send = (body: Body, headers: Record<string, string> = {}, role: "operator" | "admin" = "operator") =>
  Effect.flatMap(Callers, ({ token }) =>
    call("POST", "/api/dhcp/events", {
      token: token[role],
      headers: { ...ndjson, ...headers },
      ...(body === undefined ? {} : { body })
    }))

const storedCount = Effect.flatMap(EventMemory, (memory) => Effect.map(Ref.get(memory), ({ rows }) => rows.length))

const event = "{\"event_time\":\"2096-02-01T12:00:00Z\",\"protocol\":\"dhcpv4\",\"message_type\":\"discover\"," +
  "\"client_mac\":\"02-BD-00-00-00-01\"}"

const line = fc.oneof(
  { weight: 3, arbitrary: dhcpEvent.map((each) => JSON.stringify(each)) },
  { weight: 2, arbitrary: fc.json() },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 30 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      " ",
      "\r",
      "\t ",
      "\ufeff",
      "{",
      "null",
      "[]",
      "[".repeat(20_000),
      event,
      `${event}\r`
    )
  }
).map((text) => Buffer.from(text.replaceAll("\n", " ")))
const raw = fc.uint8Array({ maxLength: 20 }).map((octets) => Buffer.from(octets.filter((octet) => octet !== 10)))

const newline = Buffer.from("\n")
const isBlank = (octets: Buffer) => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets).trim() === ""
  } catch {
    return false
  }
}

layer(TestApi)("ingest", (it) => {
  it.effect.prop("accepts or names every line, whatever it is and however it arrives", {
    lines: fc.array(fc.oneof({ weight: 4, arbitrary: line }, { weight: 1, arbitrary: raw }), { maxLength: 40 }),
    cuts: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }),
    ended: fc.boolean()
  }, ({ cuts, ended, lines }) =>
    Effect.gen(function*() {
      const parts = lines.flatMap((octets, index) => index === 0 ? [octets] : [newline, octets])
      const octets = Buffer.concat(ended ? [...parts, newline] : parts)
      const chunks: Array<Uint8Array> = []
      for (let start = 0, i = 0; start < octets.length; start += cuts[i % cuts.length]!, i++) {
        chunks.push(octets.subarray(start, start + cuts[i % cuts.length]!))
      }
      const before = yield* storedCount
      const answer = yield* send(Stream.fromIterable(chunks))
      assert.strictEqual(answer.status, 200, answer.text)
      const { accepted, errors, rejected } = answer.json
      assert.hasAllKeys(answer.json, ["accepted", "rejected", "errors"])
      const written = lines.map((octets, index) => ({ octets, number: index + 1 })).filter(({ octets }) =>
        !isBlank(octets)
      )
      assert.strictEqual(accepted + rejected, written.length)
      assert.strictEqual((yield* storedCount) - before, accepted)
      assert.strictEqual(errors.length, rejected)
      const numbers = errors.map((error: { line: number }) => error.line)
      assert.deepStrictEqual(numbers, [...new Set<number>(numbers)].sort((a, b) => a - b))
      for (const number of numbers) assert.include(written.map((each) => each.number), number)
      for (const { message } of errors) assert.isAbove(message.length, 0)
    }), { fastCheck: { numRuns: 40 } })

  it.effect("gives back what was ingested, in canonical form", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* send(event)).json, { accepted: 1, rejected: 0, errors: [] })
      const { client } = yield* Callers
      const { items } = yield* client.viewer.dhcpEvents.list({ urlParams: { limit: 1000 } })
      const { id, ...found } = items.find(({ client_mac }) => client_mac === "02:bd:00:00:00:01")!
      assert.isAbove(id.length, 0)
      assert.deepInclude(found, {
        event_time: "2096-02-01T12:00:00.000Z",
        protocol: "dhcpv4",
        message_type: "discover"
      })
    }))

  it.effect("takes nothing as nothing", () =>
    Effect.gen(function*() {
      for (const body of ["\n", "\r\n\n \n"]) {
        assert.deepStrictEqual((yield* send(body)).json, { accepted: 0, rejected: 0, errors: [] })
      }
    }))

  it.effect("takes no other media type", () =>
    Effect.gen(function*() {
      const refused = [
        "application/json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-ndjson; charset=latin1"
      ]
      for (const type of refused) {
        assertProblem(yield* send(event, { "content-type": type }), 415, "unsupported-media-type")
      }
      assertProblem(yield* send(event, { "content-encoding": "gzip" }), 415, "unsupported-media-type")
      assert.strictEqual((yield* send(event, { "content-type": "application/x-ndjson; charset=utf-8" })).status, 200)
    }))

  it.effect("stores the lines of one user under one key once", () =>
    Effect.gen(function*() {
      const before = yield* storedCount
      const key = { "idempotency-key": "batch-1" }
      const first = yield* send(`${event}\nbad\n${event}`, key)
      assert.deepInclude(first.json, { accepted: 2, rejected: 1 })
      assert.deepStrictEqual((yield* send(`${event}\nbad\n${event}`, key)).json, first.json)
      assert.strictEqual((yield* storedCount) - before, 2)
      yield* send(`${event}\nbad\n${event}`, key, "admin")
      assert.strictEqual((yield* storedCount) - before, 4)
      for (const wrong of ["", "k".repeat(256)]) {
        const body = assertProblem(yield* send(event, { "idempotency-key": wrong }), 400, "invalid-request")
        assert.deepInclude(body.errors[0], { in: "headers", pointer: "/idempotency-key" })
      }
      assert.strictEqual((yield* storedCount) - before, 4)
    }))
})

describe("ingest into a store that fails", () => {
  const failure = new EventStoreFailed({ cause: new Error("SELECT secret") })
  const down = (stored: number, retention: number | EventStoreFailed) =>
    Layer.effect(
      DhcpEvents,
      Effect.map(DhcpEvents, (events) => {
        let left = stored
        return DhcpEvents.of({
          ...events,
          append: (batch) => left-- > 0 ? events.append(batch) : Effect.fail(failure),
          retentionDays: typeof retention === "number" ? Effect.succeed(retention) : Effect.fail(retention)
        })
      })
    )
  const silent = Logger.replace(Logger.defaultLogger, Logger.none)
  const stopped = (body: string) => Effect.raceFirst(send(body), Effect.forever(TestClock.adjust("1 seconds")))

  it.effect("says from which line on to send again", () =>
    Effect.gen(function*() {
      const answer = yield* stopped(["bad", ...Array<string>(batchLimits.lines + 4999).fill(event)].join("\n"))
      const body = assertProblem(answer, 503, "ingest-interrupted")
      assert.deepInclude(body, { accepted: batchLimits.lines - 1, rejected: 1, resume_line: batchLimits.lines + 1 })
      assert.match(answer.headers["retry-after"]!, /^[1-9]\d*$/)
      assert.notInclude(answer.text, "SELECT")
      assert.strictEqual(yield* storedCount, batchLimits.lines - 1)
    }).pipe(Effect.provide(testApi(down(1, 30))), Effect.provide(silent)))

  it.effect("says so before the first line", () =>
    Effect.gen(function*() {
      const body = assertProblem(yield* stopped(event), 503, "ingest-interrupted")
      assert.deepInclude(body, { accepted: 0, rejected: 0, resume_line: 1 })
    }).pipe(Effect.provide(testApi(down(9, failure))), Effect.provide(silent)))
})
