import { HttpServerError, type HttpServerRequest } from "@effect/platform"
import { NodeStream } from "@effect/platform-node"
import { Duration, Effect, Stream } from "effect"
import { Readable } from "node:stream"

/** For how long the rest of a refused body is read and dropped, in milliseconds. */
const lingerMs = 5_000

/**
 * Reads and drops what is still to come: a connection that closes with unread octets is reset, and the client then
 * loses the answer that says why. Who goes on sending after that is cut off.
 */
const discardRest = (source: Readable) =>
  Effect.sync(() => {
    if (source.readableEnded || source.destroyed) return
    // Only once the reader's own listeners are gone does the source flow again.
    setImmediate(() => source.resume())
    const cut = setTimeout(() => source.destroy(), lingerMs).unref()
    source.once("close", () => clearTimeout(cut)).once("end", () => clearTimeout(cut))
  })

const decodeFailed = (request: HttpServerRequest.HttpServerRequest) => (cause: unknown) =>
  new HttpServerError.RequestError({ request, reason: "Decode", cause })

/** The octets of a body; to stop reading them leaves the connection open for the answer. */
export const requestOctets = (
  request: HttpServerRequest.HttpServerRequest
): Stream.Stream<Uint8Array, HttpServerError.RequestError> => {
  const { source } = request
  if (!(source instanceof Readable)) return request.stream
  return NodeStream.fromReadable<HttpServerError.RequestError, Uint8Array>(() => source, decodeFailed(request), {
    closeOnDone: false
  }).pipe(Stream.ensuring(discardRest(source)))
}

/** How much of a body is read, for how long, and what it is to be refused with. */
export interface BodyBounds<E> {
  readonly bytesMax: number
  readonly arrival: Duration.DurationInput
  readonly tooLarge: () => E
  readonly late: () => E
}

const foldOctets = <E>(
  request: HttpServerRequest.HttpServerRequest,
  { arrival, bytesMax, late, tooLarge }: BodyBounds<E>
) =>
  Stream.runFoldEffect(
    requestOctets(request),
    { chunks: [] as Array<Uint8Array>, size: 0 },
    (body, chunk) => {
      const size = body.size + chunk.length
      if (size > bytesMax) return Effect.fail(tooLarge())
      body.chunks.push(chunk)
      return Effect.succeed({ chunks: body.chunks, size })
    }
  ).pipe(
    Effect.map(({ chunks }) => Buffer.concat(chunks)),
    Effect.timeoutFail({ duration: arrival, onTimeout: late })
  )

/** The whole body, as soon as it is there; to stop waiting leaves the connection open for the answer. */
export const requestBody = <E>(
  request: HttpServerRequest.HttpServerRequest,
  bounds: BodyBounds<E>
): Effect.Effect<Uint8Array, E | HttpServerError.RequestError> => {
  const { source } = request
  if (!(source instanceof Readable)) return foldOctets(request, bounds)
  // A stream of the same costs some ten times as much as its events do.
  return Effect.async<Uint8Array, E | HttpServerError.RequestError>((resume) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    const stop = () => {
      clearTimeout(late)
      source.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose)
    }
    const end = (effect: Effect.Effect<Uint8Array, E | HttpServerError.RequestError>) => {
      stop()
      resume(effect)
    }
    const refuse = (error: E) => end(Effect.zipRight(discardRest(source), Effect.fail(error)))
    const onData = (chunk: Uint8Array) => {
      size += chunk.length
      if (size > bounds.bytesMax) refuse(bounds.tooLarge())
      else chunks.push(chunk)
    }
    const onEnd = () => end(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onError = (cause: unknown) => end(Effect.fail(decodeFailed(request)(cause)))
    const onClose = () => onError(new Error("the body ended early"))
    const late = setTimeout(() => refuse(bounds.late()), Duration.toMillis(bounds.arrival))
    if (source.destroyed) onClose()
    else source.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose)
    return Effect.zipRight(Effect.sync(stop), discardRest(source))
  })
}

/** Drops a body of which nothing was read. */
export const discardBody = ({ source }: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  source instanceof Readable ? discardRest(source) : Effect.void
