import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Authentication } from "../Auth.ts"
import { path, requires } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"

const Check = Schema.Struct({ ok: Schema.Boolean, detail: Schema.String })

/** Whether each backing service answers. */
export const Readiness = Schema.Struct({
  status: Schema.Literal("ready", "unavailable"),
  checks: Schema.Struct({ postgres: Check, clickhouse: Check, nft: Check, migrations: Check })
}).annotations({ identifier: "Readiness" })

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live")
      .addSuccess(Schema.Struct({ status: Schema.Literal("live") }))
      .annotate(OpenApi.Summary, "The process answers")
  )
  .add(
    HttpApiEndpoint.get("ready", "/health/ready")
      .addSuccess(Readiness)
      .addSuccess(Readiness.annotations(HttpApiSchema.annotations({ status: 503 })))
      .annotate(OpenApi.Summary, "Postgres, ClickHouse and nft answer")
      .annotate(
        OpenApi.Description,
        "503 while Postgres or ClickHouse does not answer, or a named packet filter. A sandbox that this machine cannot have is told in `checks.nft` and does not fail it."
      )
  )
  .add(
    HttpApiEndpoint.get("problem", "/problems/:slug")
      .setPath(path({ slug: Schema.String }))
      .addSuccess(HttpApiSchema.Text({ contentType: "text/html" }))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "What a problem type means and what to do")
  )
  .annotateContext(OpenApi.annotations({ title: "Health", description: "For load balancers and supervisors." }))
{}

export class OperationsApi extends HttpApiGroup.make("operations")
  .add(
    HttpApiEndpoint.get("metrics", "/metrics")
      .addSuccess(HttpApiSchema.Text({ contentType: "text/plain" }))
      .annotate(OpenApi.Summary, "Prometheus metrics of this process")
      .annotateContext(requires("metrics:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Operations", description: "For those who operate the service." }))
{}
