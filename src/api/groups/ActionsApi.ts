import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Action, ActionType } from "../../schema/Action.ts"
import { ActionRequest } from "../../schema/ActionRequest.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { ProtectedMac, ProtectedMacDraft } from "../../schema/ProtectedMac.ts"
import { Authentication } from "../Auth.ts"
import { body, freeBody, optionalBody, path, query, requires, traits } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused } from "../problems/access.ts"
import { BlocksExhausted, ClientProtected } from "../problems/enforcement.ts"
import { Deleted } from "./AutomationApi.ts"

/** Answer of the panic button. */
export const AllRemoved = Schema.Struct({
  success: Schema.Literal(true),
  removed_count: Schema.NonNegativeInt,
  cancelled_jobs: Schema.NonNegativeInt
}).annotations({ identifier: "AllRemoved" })

export const CleanupRequest = Schema.Struct({
  dry_run: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  limit: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 100_000)), { default: () => 100_000 })
})

/** Result of a cleanup (specification 2.6). */
export const CleanupResult = Schema.Struct({
  cleaned_count: Schema.NonNegativeInt,
  message: Schema.String,
  success: Schema.Boolean
}).annotations({ identifier: "CleanupResult" })

const actions = "/api/actions" as const

export class ActionsApi extends HttpApiGroup.make("actions")
  .add(
    HttpApiEndpoint.get("list", actions)
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
    HttpApiEndpoint.post("create", actions)
      .setPayload(body(ActionRequest))
      .addSuccess(Action, { status: 201 })
      .addSuccess(Action)
      .addError(wire(ClientProtected))
      .addError(wire(BlocksExhausted))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Order an action for one client")
      .annotate(
        OpenApi.Description,
        "A client has at most one action of a kind in force: where there is one it is prolonged, never shortened, and answered with 200. Block, quarantine and allow need a client with a MAC."
      )
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("actions:write"))
  )
  .add(
    HttpApiEndpoint.del("removeAll", actions)
      .setUrlParams(query({ all: Schema.Literal("true").annotations({ description: "says that all is meant" }) }))
      .addSuccess(AllRemoved)
      .annotate(OpenApi.Summary, "Lift everything")
      .annotate(OpenApi.Description, "The panic button: ends every action in force, and cancels the bulk jobs at work.")
      .annotateContext(traits("atomic"))
      .annotateContext(requires("actions:write"))
  )
  .add(
    HttpApiEndpoint.get("listProtected", `${actions}/protected`)
      .addSuccess(Schema.Struct({ items: Schema.Array(ProtectedMac), total: Schema.Int, next: Schema.Null }))
      .annotate(OpenApi.Summary, "Read the never-block list")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.post("protect", `${actions}/protected`)
      .setPayload(body(ProtectedMacDraft))
      .addSuccess(ProtectedMac, { status: 201 })
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Put a MAC on the never-block list")
      .annotate(OpenApi.Description, "A block or quarantine of it that is in force is not enforced any more.")
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("actions:write"))
  )
  .add(
    HttpApiEndpoint.del("unprotect", `${actions}/protected/:mac`)
      .setPath(path({ mac: Schema.String }))
      .addSuccess(Deleted)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Take a MAC off the never-block list")
      .annotateContext(traits("atomic"))
      .annotateContext(requires("actions:write"))
  )
  .add(
    HttpApiEndpoint.post("cleanup", `${actions}/sync/cleanup`)
      .setPayload(freeBody(CleanupRequest))
      .addSuccess(CleanupResult)
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Clean up expired actions")
      .annotate(
        OpenApi.Description,
        "Removes what has expired from the packet filter, then marks it. The service does so unasked as well; what it did first isn't counted here."
      )
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent"))
      .annotateContext(requires("actions.sync:cleanup"))
  )
  .add(
    HttpApiEndpoint.get("get", `${actions}/:id`)
      .setPath(path({ id: Schema.String }))
      .addSuccess(Action)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read an action")
      .annotateContext(requires("actions:read"))
  )
  .add(
    HttpApiEndpoint.del("remove", `${actions}/:id`)
      .setPath(path({ id: Schema.String }))
      .addSuccess(Deleted)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Lift an action")
      .annotate(OpenApi.Description, "The record stays, as removed; one that has ended stays as it is.")
      .annotateContext(traits("atomic"))
      .annotateContext(requires("actions:write"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Actions", description: "What was decided about single clients." }))
{}
