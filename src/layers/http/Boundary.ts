import {
  Etag,
  FileSystem,
  HttpApiBuilder,
  HttpPlatform,
  HttpServerRequest,
  HttpServerResponse,
  Path
} from "@effect/platform"
import { Cause, Clock, Context, Effect, Layer, Option, Scope, Tracer } from "effect"
import { Boundary } from "../../api/Contract.ts"
import type { Endpoint } from "../../api/endpoints.ts"
import type { AnyProblem } from "../../api/Problem.ts"
import { MethodNotAllowed, NotFound } from "../../api/problems.ts"
import { Ids } from "../../services/Ids.ts"
import { HttpMetrics } from "../telemetry/HttpMetrics.ts"
import { classify, internal } from "./classify.ts"
import { ClientAddress } from "./ClientAddress.ts"
import { CurrentRequest, type RequestFacts } from "./CurrentRequest.ts"
import { checkMediaType, withJsonBody } from "./jsonBody.ts"
import { methodsFor, operationFor } from "./Operations.ts"
import { problemResponse } from "./problemResponse.ts"

const wellFormedId = /^[\w.-]{8,64}$/

/** Headers that make a browser take an answer for what it is. */
const hardening = { "x-content-type-options": "nosniff" }

const refuse = (url: string): { readonly problem: AnyProblem; readonly headers: Readonly<Record<string, string>> } => {
  const allow = methodsFor(url)
  return allow.length === 0
    ? { problem: new NotFound({ detail: "Nothing is served at this path" }), headers: {} }
    : {
      problem: new MethodNotAllowed({ detail: `This path is served for ${allow.join(", ")}` }),
      headers: { allow: allow.join(", ") }
    }
}

const routeServices = [
  HttpPlatform.HttpPlatform,
  Etag.Generator,
  FileSystem.FileSystem,
  Path.Path,
  Scope.Scope,
  Tracer.ParentSpan
]

/**
 * What routes are given: the whole of the service's context is copied wherever something is added to it, and the
 * handlers have their own.
 */
const routeContext = (
  context: Context.Context<never>,
  request: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts
): Context.Context<HttpServerRequest.HttpServerRequest> => {
  const services = new Map<string, unknown>([
    [HttpServerRequest.HttpServerRequest.key, request],
    [CurrentRequest.key, facts]
  ])
  for (const { key } of routeServices) {
    if (context.unsafeMap.has(key)) services.set(key, context.unsafeMap.get(key))
  }
  return Context.unsafeMake(services)
}

/** The request as the handlers are to see it: with a JSON body where the operation decodes one. */
const prepare = (operation: Endpoint, request: HttpServerRequest.HttpServerRequest) => {
  switch (operation.body) {
    case "none":
      return Effect.succeed(request)
    case "stream":
      return Effect.as(checkMediaType(operation, request), request)
    default:
      return Effect.succeed(withJsonBody(operation, request))
  }
}

/**
 * The one place through which every answer passes: it gives the request its id, finds its operation, bounds and
 * parses the body, turns whatever fails into the one error body, and tells the log and the metrics.
 */
const wrap = HttpApiBuilder.middleware(
  Effect.gen(function*() {
    const ids = yield* Ids
    const metrics = yield* HttpMetrics
    const clients = yield* ClientAddress

    const fail = (problem: AnyProblem, facts: RequestFacts, headers: Readonly<Record<string, string>> = {}) =>
      Effect.map(ids.uuid, (occurrence) => problemResponse(problem, facts.id, occurrence, headers))

    const recover = (cause: Cause.Cause<unknown>, facts: RequestFacts) =>
      Option.match(classify(cause), {
        onNone: () => Effect.failCause(cause as Cause.Cause<never>),
        onSome: (problem) =>
          Effect.zipRight(
            problem.status >= 500 ? Effect.logError("request failed", cause) : Effect.void,
            fail(problem, facts)
          )
      })

    const report = (
      facts: RequestFacts,
      request: HttpServerRequest.HttpServerRequest,
      status: number,
      startedMillis: number
    ) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const elapsed = now - startedMillis
        metrics.observe(facts.operation?.id ?? "unmatched", request.method, status, elapsed)
        return Effect.annotateLogs(Effect.logInfo("request"), {
          method: request.method,
          path: request.url.split("?", 1)[0]!.slice(0, 256),
          status,
          elapsed_ms: elapsed,
          user: facts.user ?? "-",
          address: facts.address ?? "-"
        })
      })

    return (app) =>
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        const started = yield* Clock.currentTimeMillis
        const given = request.headers["x-request-id"]
        const facts: RequestFacts = {
          id: given !== undefined && wellFormedId.test(given) ? given : yield* ids.uuid,
          operation: operationFor(request.method, request.url),
          address: clients.of(request),
          user: undefined,
          credential: undefined,
          notes: {}
        }
        const span = Context.getOption(yield* Effect.context<never>(), Tracer.ParentSpan)
        if (Option.isSome(span) && span.value._tag === "Span") span.value.attribute("request.id", facts.id)
        const { operation } = facts
        const answer = operation === undefined
          ? Effect.suspend(() => {
            const { headers, problem } = refuse(request.url)
            return fail(problem, facts, headers)
          })
          : Effect.flatMap(prepare(operation, request), (prepared) =>
            Effect.mapInputContext(app, (context: Context.Context<never>) =>
              routeContext(context, prepared, facts)))
        return yield* answer.pipe(
          Effect.catchAllCause((cause) =>
            recover(cause, facts)
          ),
          Effect.catchAllDefect(() => fail(internal(), facts)),
          Effect.map(HttpServerResponse.setHeaders({ ...hardening, "x-request-id": facts.id })),
          Effect.tap((response) => report(facts, request, response.status, started)),
          Effect.onInterrupt(() => report(facts, request, 499, started)),
          Effect.annotateLogs("request_id", facts.id)
        )
      })
  })
)

export const BoundaryLive = Layer.merge(wrap, Layer.succeed(Boundary, Boundary.of(Effect.void)))
