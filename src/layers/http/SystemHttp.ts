import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import type { ProblemClass } from "../../api/Problem.ts"
import { registry } from "../../api/Problem.ts"
import { NotFound } from "../../api/problems.ts"
import { Readiness } from "../../services/Readiness.ts"
import { HttpMetrics } from "../telemetry/HttpMetrics.ts"
import { serviceGauges } from "../telemetry/serviceGauges.ts"
import { group } from "./group.ts"

const escape = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const inline = (text: string) => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>")

const page = (problem: ProblemClass): string =>
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escape(problem.spec.title)}</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>${escape(problem.spec.title)}</h1>
<p>Problem type <code>/problems/${problem.slug}</code>, HTTP status ${problem.spec.status}.</p>
<p>${inline(problem.spec.help)}</p>
<p><a href="/docs">All operations</a></p>
</html>
`

export const HealthHttp = group(
  Api,
  "health",
  Effect.fnUntraced(function*(handlers) {
    const readiness = yield* Readiness
    return handlers
      .handle("live", () => Effect.succeed({ status: "live" as const }))
      .handle("ready", () =>
        Effect.map(readiness.check, (checks) => {
          const ready = Object.values(checks).every((check) => check.ok || !check.required)
          const told = Object.entries(checks).map(([name, { detail, ok }]) => [name, { ok, detail }])
          return HttpServerResponse.unsafeJson(
            { status: ready ? "ready" : "unavailable", checks: Object.fromEntries(told) },
            {
              status: ready ? 200 : 503,
              headers: { "cache-control": "no-store", ...(ready ? {} : { "retry-after": "5" }) }
            }
          )
        }))
      .handle("problem", ({ path }) => {
        const problem = registry.get(path.slug)
        return problem === undefined
          ? Effect.fail(new NotFound({ detail: "There is no such problem type" }))
          : Effect.succeed(HttpServerResponse.html(page(problem)))
      })
  })
)

export const OperationsHttp = group(
  Api,
  "operations",
  Effect.fnUntraced(function*(handlers) {
    const metrics = yield* HttpMetrics
    const context = yield* Effect.context<Effect.Effect.Context<typeof serviceGauges>>()
    return handlers.handle(
      "metrics",
      () =>
        Effect.map(
          Effect.all([metrics.render, Effect.provide(serviceGauges, context)], { concurrency: "unbounded" }),
          (texts) =>
            HttpServerResponse.text(texts.join(""), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
        )
    )
  })
)
