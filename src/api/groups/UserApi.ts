import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Feedback, FeedbackDraft, FeedbackId } from "../../schema/Feedback.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { UserSettings } from "../../schema/UserSettings.ts"
import { Authentication } from "../Auth.ts"
import { body, query, requires, traits } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { FeedbackLimited, IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"

const SettingsAnswer = Schema.Struct({ success: Schema.Literal(true), settings: UserSettings }).annotations({
  identifier: "SettingsAnswer"
})

export class UserApi extends HttpApiGroup.make("user")
  .add(
    HttpApiEndpoint.get("settings", "/api/user/settings")
      .addSuccess(SettingsAnswer)
      .annotate(OpenApi.Summary, "Read my settings")
      .annotateContext(traits("versioned"))
  )
  .add(
    HttpApiEndpoint.put("updateSettings", "/api/user/settings")
      .setPayload(body(UserSettings))
      .addSuccess(SettingsAnswer)
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Change my settings")
      .annotate(OpenApi.Description, "Only the fields given are changed, those of `notifications` one by one.")
      .annotateContext(traits("atomic", "versioned"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "User", description: "What belongs to the signed-in user." }))
{}

export class FeedbackApi extends HttpApiGroup.make("feedback")
  .add(
    HttpApiEndpoint.post("submit", "/api/feedback")
      .setPayload(body(FeedbackDraft))
      .addSuccess(
        Schema.Struct({ success: Schema.Literal(true), id: FeedbackId, status: Schema.Literal("received") })
          .annotations({ identifier: "FeedbackReceipt" })
      )
      .addError(wire(FeedbackLimited))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Send feedback")
      .annotate(OpenApi.Description, "Five messages an hour are taken from one user.")
      .annotateContext(traits("idempotent", "atomic"))
  )
  .add(
    HttpApiEndpoint.get("list", "/api/feedback")
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(Feedback))
      .annotate(OpenApi.Summary, "List feedback")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(requires("feedback:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Feedback", description: "What users say about the service." }))
{}
