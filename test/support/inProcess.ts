import { FetchHttpClient, HttpApiBuilder, HttpApp, HttpServer } from "@effect/platform"
import type { HttpApi, HttpClient, HttpRouter } from "@effect/platform"
import { Effect, Layer } from "effect"

/** Announces the body as a socket's client would: by its length, or as chunks where that isn't known. */
const frame = (request: Request, body: RequestInit["body"]): Request => {
  if (body === undefined || body === null || request.headers.has("content-length")) return request
  const length = typeof body === "string" ? Buffer.byteLength(body) : body instanceof Uint8Array ? body.length : -1
  if (length < 0) request.headers.set("transfer-encoding", "chunked")
  else request.headers.set("content-length", String(length))
  return request
}

/**
 * Serves an API to HTTP clients without a socket, in the runtime of the test itself: routing, middleware, encoding and
 * decoding are the real ones and time is the test's clock.
 */
export const inProcess = <E, R>(
  api: Layer.Layer<HttpApi.Api, E, R>
): Layer.Layer<HttpClient.HttpClient, E, Exclude<R, HttpApiBuilder.Router | HttpApiBuilder.Middleware>> => {
  const fetch = Layer.effect(
    FetchHttpClient.Fetch,
    Effect.gen(function*() {
      const runtime = yield* Effect.runtime<HttpRouter.HttpRouter.DefaultServices>()
      const handle = HttpApp.toWebHandlerRuntime(runtime)(yield* HttpApiBuilder.httpApp)
      return ((input, init) => handle(frame(new Request(input, init), init?.body))) as typeof globalThis.fetch
    })
  ).pipe(
    Layer.provide([api, HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer, HttpServer.layerContext])
  )
  return FetchHttpClient.layer.pipe(Layer.provide(fetch)) as never
}
