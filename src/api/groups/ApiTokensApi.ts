import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { ApiToken, ApiTokenDraft } from "../../schema/ApiToken.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Authentication } from "../Auth.ts"
import { body, path, query, sessionOnly } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"

/** Answer to the creation of an API token. */
export const CreatedApiToken = Schema.Struct({
  ...ApiToken.fields,
  token: Schema.String.annotations({ description: "the bearer token, shown this once" })
}).annotations({ identifier: "CreatedApiToken" })

export class ApiTokensApi extends HttpApiGroup.make("apiTokens")
  .add(
    HttpApiEndpoint.get("list", "/api/auth/tokens")
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(ApiToken))
      .annotate(OpenApi.Summary, "List your API tokens")
      .annotate(OpenApi.Description, "Newest first, without their secrets.")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.post("create", "/api/auth/tokens")
      .setPayload(body(ApiTokenDraft))
      .addSuccess(CreatedApiToken, { status: 201 })
      .annotate(OpenApi.Summary, "Create an API token")
      .annotate(
        OpenApi.Description,
        "`scopes` are permissions that your role has; a permission that the role loses later is lost to the token too."
      )
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.get("get", "/api/auth/tokens/:id")
      .setPath(path({ id: Schema.String }))
      .addSuccess(ApiToken)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read one of your API tokens")
      .annotate(OpenApi.Description, "Without its secret, which is stored nowhere.")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/auth/tokens/:id")
      .setPath(path({ id: Schema.String }))
      .addSuccess(Schema.Struct({ success: Schema.Literal(true), id: Schema.String }))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Delete one of your API tokens")
      .annotate(OpenApi.Description, "It is dead on every node when this answers.")
      .annotateContext(sessionOnly)
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "API tokens", description: "Tokens for programs." }))
{}
