import { HttpClient, HttpClientRequest } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Redacted, Stream } from "effect"
import type { EventDraft } from "../../src/schema/ServiceEvent.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { call } from "../support/client.ts"
import { beginning, Callers, TestApi } from "../support/testApi.ts"

const test = (message: string): EventDraft => ({
  type: "notification.test",
  subject: `s/${message}`,
  severity: "info",
  time: beginning,
  data: { message }
})

const locked: EventDraft = {
  type: "auth.login.locked",
  subject: "user/1",
  severity: "warning",
  time: beginning,
  data: { user_id: 1, username: "x", address: "192.0.2.1", failures: 5 }
}

/** The frames of a stream until one contains a text. */
const framesUntil = (token: Redacted.Redacted, lastId: string, text: string, query = "") =>
  HttpClient.execute(
    HttpClientRequest.get(`http://test/api/events/stream${query}`).pipe(
      HttpClientRequest.bearerToken(token),
      HttpClientRequest.setHeader("last-event-id", lastId)
    )
  ).pipe(
    Effect.flatMap((response) =>
      response.stream.pipe(
        Stream.decodeText(),
        Stream.takeUntil((chunk) => chunk.includes(text)),
        Stream.mkString
      )
    ),
    Effect.map((all) => all.split("\n\n").filter((frame) => frame !== "").slice(1)),
    Effect.scoped
  )

const idsOf = (frames: ReadonlyArray<string>) => frames.map((frame) => /^id: (.*)$/m.exec(frame)?.[1])

describe("the stream of events", () => {
  it.effect("goes on behind the event that was received last, with what the caller may see", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const events = yield* ServiceEvents
      yield* events.publish([test("a"), test("b"), locked, test("c"), test("end")])
      const items = (yield* call("GET", "/api/events?limit=10", { token: token.auditor })).json.items as ReadonlyArray<
        any
      >
      const idOf = (subject: string) => items.find((event) => event.subject === subject).id as string
      const seen = yield* framesUntil(token.viewer, idOf("s/a"), "s/end")
      assert.deepStrictEqual(idsOf(seen), [idOf("s/b"), idOf("s/c"), idOf("s/end")])
      const all = yield* framesUntil(token.auditor, idOf("s/a"), "s/end")
      assert.deepStrictEqual(idsOf(all), [idOf("s/b"), idOf("user/1"), idOf("s/c"), idOf("s/end")])
      const some = yield* framesUntil(token.auditor, idOf("s/a"), "user/1", "?min_severity=warning")
      assert.deepStrictEqual(idsOf(some), [idOf("user/1")])
      const lost = yield* framesUntil(token.viewer, "7d4c1a0e-0000-4000-8000-000000000000", "s/end")
      assert.include(lost[0], "event: gap")
      assert.lengthOf(lost, 5)
    }).pipe(Effect.provide(TestApi)))
})
