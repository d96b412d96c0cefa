import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Config, ConfigError, Effect, Either, Layer } from "effect"
import { methodsFor } from "./Operations.ts"

const isOrigin = (text: string) => URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text

const origins = Config.string("NETOPS_CORS_ORIGINS").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const listed = text.split(",").map((part) => part.trim()).filter((part) => part !== "")
    const wrong = listed.filter((part) => !isOrigin(part))
    return wrong.length === 0
      ? Either.right(new Set(listed))
      : Either.left(
        ConfigError.InvalidData(
          ["NETOPS_CORS_ORIGINS"],
          `${wrong.join(", ")}: expected origins such as https://netops.example.org, separated by commas`
        )
      )
  })
)

const maxAgeSeconds = 600
const sent = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-ID"
const shown = "ETag, Location, Retry-After, X-Request-ID"

const allowed = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": shown,
  vary: "Origin"
})

const preflight = (origin: string, methods: ReadonlyArray<string>) =>
  HttpServerResponse.empty({
    status: 204,
    headers: {
      ...allowed(origin),
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": sent,
      "access-control-max-age": String(maxAgeSeconds)
    }
  })

/**
 * Lets the pages of `NETOPS_CORS_ORIGINS` call the API from browsers; by default none may. Tokens travel in a header
 * that pages set themselves, so credentials of the browser are never allowed. It is to be built after the boundary,
 * which then answers within it.
 */
export const CrossOriginLive = Layer.unwrapEffect(
  Effect.map(origins, (listed) =>
    listed.size === 0
      ? Layer.empty
      : HttpApiBuilder.middleware((app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
          const { "access-control-request-method": asked, origin } = request.headers
          if (origin === undefined || !listed.has(origin)) {
            return Effect.map(app, HttpServerResponse.setHeader("vary", "Origin"))
          }
          return request.method === "OPTIONS" && asked !== undefined
            ? Effect.succeed(preflight(origin, methodsFor(request.url)))
            : Effect.map(app, HttpServerResponse.setHeaders(allowed(origin)))
        })
      ))
)
