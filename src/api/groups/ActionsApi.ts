import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Action, ActionType } from "../../schema/Action.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Authentication } from "../Auth.ts"
import { path, query, requires } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"

export class ActionsApi extends HttpApiGroup.make("actions")
  .add(
    HttpApiEndpoint.get("list", "/api/actions")
      .setUrlParams(query({
        ...PageQuery,
        type: Schema.optional(ActionType),
        status: Schema.optional(Action.fields.status),
        client: Schema.optional(Schema.String.annotations({ description: "MAC in any notation, or DUID" }))
      }))
      .addSuccess(PageOf(Action))
      .annotate(OpenApi.Summary, "List actions")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.get("get", "/api/actions/:id")
      .setPath(path({ id: Schema.String }))
      .addSuccess(Action)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read an action")
      .annotateContext(requires("actions:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Actions", description: "What was decided about single clients." }))
{}
