import { FetchHttpClient, HttpApiBuilder, HttpApp, HttpServer } from "@effect/platform"
import type { HttpApi, HttpClient, HttpRouter } from "@effect/platform"
import { Effect, Layer } from "effect"

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
      return ((input, init) => {
        const request = new Request(input, init)
        return handle(request)
      }) as typeof globalThis.fetch
    })
  ).pipe(
    Layer.provide([api, HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer, HttpServer.layerContext])
  )
  return FetchHttpClient.layer.pipe(Layer.provide(fetch)) as never
}
