import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer } from "effect"
import { ServiceEventsPg } from "../../src/layers/postgres/ServiceEventsPg.ts"
import type { EventDraft } from "../../src/schema/ServiceEvent.ts"
import { type EventPosition, ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { pause, serviceEventsContract } from "../contract/ServiceEvents.ts"
import { PostgresTest } from "../support/engines.ts"

const layer = Layer.provideMerge(ServiceEventsPg, PostgresTest)

serviceEventsContract("postgres", Layer.provide(ServiceEventsPg, PostgresTest), 15)

const draft = (subject: string): EventDraft => ({
  type: "notification.test",
  subject,
  severity: "info",
  time: DateTime.unsafeMake(0),
  data: { message: "" }
})

describe("events in Postgres", () => {
  it.layer(layer)((it) => {
    it.effect("are there exactly if their transaction is", () =>
      Effect.gen(function*() {
        const [events, sql] = [yield* ServiceEvents, yield* SqlClient.SqlClient]
        yield* sql.withTransaction(Effect.zipRight(events.publish([draft("kept/1")]), Effect.void))
        yield* Effect.ignore(sql.withTransaction(Effect.zipRight(events.publish([draft("gone/1")]), Effect.fail("no"))))
        assert.strictEqual((yield* events.list({ limit: 1, subject: "kept/1" })).total, 1)
        assert.strictEqual((yield* events.list({ limit: 1, subject: "gone/1" })).total, 0)
      }))

    it.effect("are in the order of their transactions also where the numbers of those get longer", () =>
      Effect.gen(function*() {
        const [events, sql] = [yield* ServiceEvents, yield* SqlClient.SqlClient]
        const begin = yield* events.end
        const subjects = ["x/9", "x/10", "x/99", "x/100"]
        for (const [index, subject] of subjects.entries()) {
          yield* events.publish([draft(subject)])
          yield* sql`UPDATE service_events SET xid = ${String([9, 10, 99, 100][index])}::xid8
            WHERE event ->> 'subject' = ${subject}`
        }
        const read = yield* events.read(undefined, 4)
        assert.deepStrictEqual(read.map(({ event }) => event.subject), subjects)
        assert.deepStrictEqual((yield* events.read(read[1]!.position, 2)).map(({ event }) => event.subject), [
          "x/99",
          "x/100"
        ])
        yield* sql`DELETE FROM service_events WHERE event ->> 'subject' LIKE 'x/%'`
        assert.strictEqual(yield* events.end, begin)
      }))

    it.effect("of transactions that overlap are read once each, whichever commits first", () =>
      Effect.gen(function*() {
        const [events, sql] = [yield* ServiceEvents, yield* SqlClient.SqlClient]
        const begin = yield* events.end
        const seen: Array<string> = []
        let after: EventPosition | undefined = begin
        const readOn = Effect.gen(function*() {
          for (const { event, position } of yield* events.read(after, 3)) {
            seen.push(event.subject)
            after = position
          }
        })
        const written = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const slow = yield* Effect.fork(sql.withTransaction(
          events.publish([draft("slow")]).pipe(
            Effect.zipRight(Deferred.succeed(written, undefined)),
            Effect.zipRight(Deferred.await(release))
          )
        ))
        yield* Deferred.await(written)
        yield* Effect.forEach([1, 2, 3], (number) => events.publish([draft(`quick/${number}`)]))
        yield* readOn
        assert.notInclude(seen, "quick/1")
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(slow)
        while (seen.length < 4) yield* Effect.zipRight(readOn, pause)
        assert.deepStrictEqual([...seen].sort(), ["quick/1", "quick/2", "quick/3", "slow"])
      }))
  })
})
