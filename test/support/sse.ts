import { HttpClient, HttpClientRequest } from "@effect/platform"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Queue, type Redacted, Scope, Stream } from "effect"

/** A frame as a client reads it (WHATWG HTML, section 9.2); without data it dispatches no event. */
export interface Frame {
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: any
  readonly comment: string | undefined
}

const parse = (block: string): Frame => {
  const fields: Record<string, string> = {}
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "")
  }
  return {
    event: fields["event"],
    id: fields["id"],
    data: fields["data"] === undefined ? undefined : JSON.parse(fields["data"]),
    comment: fields[""]
  }
}

/** Cuts what arrives into frames. */
export const frameParser = () => {
  const decoder = new TextDecoder()
  let rest = ""
  return (octets: Uint8Array): ReadonlyArray<Frame> => {
    const blocks = (rest + decoder.decode(octets, { stream: true })).split("\n\n")
    rest = blocks.pop()!
    return blocks.map(parse)
  }
}

/** What a client holds of an open stream. */
export interface Reading {
  /** The next frame that is an event, heartbeats left out. */
  readonly next: Effect.Effect<Frame>
  /** The next frame of any kind. */
  readonly frame: Effect.Effect<Frame>
  /** Completed when the server has ended the answer. */
  readonly ended: Deferred.Deferred<void>
  /** The id that the client would send to go on. */
  readonly lastId: () => string
  readonly close: Effect.Effect<void>
}

export interface Open {
  readonly token: Redacted.Redacted
  readonly filterId?: string | undefined
  readonly lastEventId?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly baseUrl?: string
}

/** Opens the stream of DHCP events and reads its first frame. */
export const openStream = Effect.fnUntraced(
  function*({ baseUrl = "http://test", filterId, headers = {}, lastEventId, token }: Open) {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const query = filterId === undefined ? "" : `?filter_id=${filterId}`
    const request = HttpClientRequest.get(`${baseUrl}/api/dhcp/stream${query}`).pipe(
      HttpClientRequest.bearerToken(token),
      HttpClientRequest.setHeaders({
        ...headers,
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
      })
    )
    const response = yield* HttpClient.execute(request)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers["content-type"], "text/event-stream")
    const frames = yield* Queue.unbounded<Frame>()
    const ended = yield* Deferred.make<void>()
    const parser = frameParser()
    let last = ""
    yield* response.stream.pipe(
      Stream.runForEach((octets) => Queue.offerAll(frames, parser(octets))),
      Effect.ensuring(Deferred.succeed(ended, undefined)),
      Effect.ignore,
      Effect.forkIn(scope)
    )
    const frame = Effect.tap(Queue.take(frames), ({ id }) =>
      Effect.sync(() => {
        if (id !== undefined) last = id
      }))
    const next: Effect.Effect<Frame> = Effect.flatMap(
      frame,
      (found) => found.data === undefined ? next : Effect.succeed(found)
    )
    const first = yield* frame
    assert.strictEqual(first.comment, "connected")
    return { frame, next, ended, lastId: () => last, close: Scope.close(scope, Exit.void) } satisfies Reading
  },
  Effect.orDie
)
