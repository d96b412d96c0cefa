import { FetchHttpClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { Deferred, Effect, type Redacted, Ref } from "effect"
import { randomUUID } from "node:crypto"
import { makeFetchClient, tokenByPassword } from "../../src/api/client.ts"
import { isBeyond, parsePosition } from "../../src/schema/StreamPosition.ts"
import { adminPassword } from "./serverNode.ts"
import { openStream } from "./sse.ts"

export const signIn = Effect.fnUntraced(function*(url: string) {
  const client = yield* makeFetchClient({ baseUrl: url })
  return yield* tokenByPassword(client, { username: "admin", password: adminPassword })
})

/** Events by number; every seventh is of the host that filters look for. */
export const eventLine = (n: number) =>
  JSON.stringify({
    event_time: new Date().toISOString(),
    protocol: "dhcpv4",
    message_type: "discover",
    client_mac: "02:bd:00:00:00:01",
    hostname: n % 7 === 0 ? "wanted" : "other",
    transaction_id: String(n)
  })

/** Stores events once, on whichever node takes them. */
export const ingestOn = (
  urlOf: (attempt: number) => Effect.Effect<string>,
  token: Redacted.Redacted,
  lines: ReadonlyArray<string>
) => {
  const key = randomUUID()
  const attempt = (n: number): Effect.Effect<void, never, HttpClient.HttpClient> =>
    Effect.flatMap(urlOf(n), (url) =>
      HttpClient.execute(
        HttpClientRequest.post(`${url}/api/dhcp/events`).pipe(
          HttpClientRequest.bearerToken(token),
          HttpClientRequest.setHeader("idempotency-key", key),
          HttpClientRequest.bodyText(lines.join("\n"), "application/x-ndjson")
        )
      )).pipe(
        Effect.flatMap((response) => response.json),
        Effect.scoped,
        Effect.filterOrFail((verdict) => (verdict as { accepted?: number }).accepted === lines.length),
        Effect.catchAll(() => Effect.zipRight(Effect.sleep("200 millis"), attempt(n + 1))),
        Effect.asVoid
      )
  return attempt(0)
}

/** A client that follows the stream wherever it can, from where it was; what it was told, by the numbers of events. */
export const follow = Effect.fnUntraced(function*(
  urlOf: (attempt: number) => Effect.Effect<string>,
  token: Redacted.Redacted,
  filterId?: string
) {
  const told: Array<number> = []
  const wrong: Array<string> = []
  const opened = yield* Deferred.make<void>()
  const connections = yield* Ref.make(0)
  let last: string | undefined
  const session = (attempt: number) =>
    Effect.gen(function*() {
      const stream = yield* openStream({
        baseUrl: yield* urlOf(attempt),
        token,
        filterId,
        lastEventId: last
      })
      last ??= stream.lastId()
      yield* Ref.update(connections, (count) => count + 1)
      yield* Deferred.succeed(opened, undefined)
      const read = Effect.map(stream.frame, ({ data, event, id }) => {
        if (event === "dropped" || event === "reset") wrong.push(event)
        if (id !== undefined) {
          const [before, now] = [parsePosition(last!)!, parsePosition(id)!]
          const inOrder = event === "dhcp" ? isBeyond(now, before) : !isBeyond(before, now)
          if (!inOrder) wrong.push(`${last} then ${id}`)
          last = id
        }
        if (event === "dhcp") told.push(Number(data.transaction_id))
      })
      yield* Effect.raceFirst(Effect.forever(read), Deferred.await(stream.ended))
    }).pipe(Effect.scoped, Effect.catchAllCause(() => Effect.sleep("100 millis")))
  yield* Effect.forkScoped(Effect.iterate(0, { while: () => true, body: (n) => Effect.as(session(n), n + 1) }))
  yield* Deferred.await(opened)
  return { told, wrong, connections: Ref.get(connections) }
})

/** Waits until so many events are told, and a little longer for any told twice. */
export const settled = (told: ReadonlyArray<number>, count: number) =>
  Effect.gen(function*() {
    while (told.length < count) yield* Effect.sleep("50 millis")
    yield* Effect.sleep("700 millis")
  }).pipe(
    Effect.timeoutFail({ duration: "120 seconds", onTimeout: () => new Error(`${told.length} of ${count} were told`) }),
    Effect.orDie
  )

export const withFetch = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, FetchHttpClient.layer)
