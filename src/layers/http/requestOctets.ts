import { HttpServerError, type HttpServerRequest } from "@effect/platform"
import { NodeStream } from "@effect/platform-node"
import { Effect, Stream } from "effect"
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

/** The octets of a body; to stop reading them leaves the connection open for the answer. */
export const requestOctets = (
  request: HttpServerRequest.HttpServerRequest
): Stream.Stream<Uint8Array, HttpServerError.RequestError> => {
  const { source } = request
  if (!(source instanceof Readable)) return request.stream
  const failed = (cause: unknown) => new HttpServerError.RequestError({ request, reason: "Decode", cause })
  return NodeStream.fromReadable<HttpServerError.RequestError, Uint8Array>(() => source, failed, { closeOnDone: false })
    .pipe(Stream.ensuring(discardRest(source)))
}

/** Drops a body of which nothing was read. */
export const discardBody = ({ source }: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  source instanceof Readable ? discardRest(source) : Effect.void
