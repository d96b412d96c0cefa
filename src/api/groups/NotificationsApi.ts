import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Delivery, DeliveryStatus } from "../../schema/Delivery.ts"
import { LogPipelineDraft, LogPipelineStatus } from "../../schema/LogPipeline.ts"
import {
  NotificationPreview,
  NotificationPreviewResult,
  NotificationRule,
  NotificationRuleDraft,
  Silence,
  SilenceDraft,
  SilenceStatus
} from "../../schema/NotificationRule.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Authentication } from "../Auth.ts"
import { body, optionalBody, path, query, requires, traits, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"
import {
  ChannelNotConfigured,
  ChannelRejected,
  ChannelUnreachable,
  DeliveryDone,
  SilenceOver
} from "../problems/notifications.ts"

/** Answer of specification 2.11. */
const MessageStatus = Schema.Struct({ message: Schema.String, status: Schema.Literal("success") }).annotations({
  identifier: "MessageStatus"
})
const RuleSwitched = Schema.Struct({
  id: Schema.String,
  enabled: Schema.Boolean,
  status: Schema.Literal("success"),
  message: Schema.String
}).annotations({ identifier: "NotificationRuleSwitched" })
const Tested = Schema.Struct({
  success: Schema.Literal(true),
  event_id: Schema.String,
  message: Schema.String
}).annotations({ identifier: "NotificationTested" })
const nothing = Schema.Struct({})

const rules = "/api/notifications/rules" as const
const silences = "/api/notifications/silences" as const
const channel = "/api/notifications/channels/log-pipeline" as const
const deliveries = "/api/notifications/deliveries" as const
const idPath = path({ id: Schema.String })

export const SilenceAnswer = Schema.Struct({ ...Silence.fields, status: SilenceStatus }).annotations({
  identifier: "SilenceAnswer"
})

export class NotificationsApi extends HttpApiGroup.make("notifications")
  .add(
    HttpApiEndpoint.get("listRules", rules)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(NotificationRule))
      .annotate(OpenApi.Summary, "List notification rules")
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.post("createRule", rules)
      .setPayload(body(NotificationRuleDraft))
      .addSuccess(NotificationRule, { status: 201 })
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Create a notification rule")
      .annotate(
        OpenApi.Description,
        "Takes events of `event_types` from `min_severity` on that match, groups them by `group_by` and sends each of them once: those of a new group after `group_wait`, later ones at the next `group_interval`, what still lasts again after `repeat_interval`."
      )
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.get("getRule", `${rules}/:id`)
      .setPath(idPath)
      .addSuccess(NotificationRule)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a notification rule")
      .annotateContext(traits("versioned"))
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.put("updateRule", `${rules}/:id`)
      .setPath(idPath)
      .setPayload(body(NotificationRuleDraft))
      .addSuccess(NotificationRule)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Replace a notification rule")
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.del("deleteRule", `${rules}/:id`)
      .setPath(idPath)
      .addSuccess(MessageStatus)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Delete a notification rule")
      .annotate(
        OpenApi.Description,
        "What it has grouped and not sent goes with it; what is in the outbox is still sent."
      )
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.post("enableRule", `${rules}/:id/enable`)
      .setPath(idPath)
      .setPayload(body(nothing))
      .addSuccess(RuleSwitched)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Enable a notification rule")
      .annotateContext(optionalBody)
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.post("disableRule", `${rules}/:id/disable`)
      .setPath(idPath)
      .setPayload(body(nothing))
      .addSuccess(RuleSwitched)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Disable a notification rule")
      .annotate(OpenApi.Description, "What it has grouped and not sent is not sent.")
      .annotateContext(optionalBody)
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.post("testRule", `${rules}/:id/test`)
      .setPath(idPath)
      .setPayload(body(nothing))
      .addSuccess(Tested)
      .addError(wire(NotFound))
      .addError(wire(ChannelNotConfigured))
      .addError(wire(ChannelUnreachable))
      .annotate(OpenApi.Summary, "Send a test event in the name of a rule")
      .annotate(OpenApi.Description, "At once, past grouping and outbox.")
      .annotateContext(optionalBody)
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.post("preview", "/api/notifications/preview")
      .setPayload(body(NotificationPreview))
      .addSuccess(NotificationPreviewResult)
      .annotate(OpenApi.Summary, "Tell which of the last day's events a rule or silence would have hit")
      .annotate(
        OpenApi.Description,
        "Nothing is saved or sent. Without a rule all events are taken; the silences in force count beside the proposed one."
      )
      .annotateContext(requires("notifications:read"))
      .annotateContext(unaudited)
  )
  .add(
    HttpApiEndpoint.get("listSilences", silences)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(SilenceAnswer))
      .annotate(OpenApi.Summary, "List silences")
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.post("createSilence", silences)
      .setPayload(body(SilenceDraft))
      .addSuccess(SilenceAnswer, { status: 201 })
      .addError(wire(SilenceOver))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Mute events for a time")
      .annotate(
        OpenApi.Description,
        "What its matchers match is not sent between `starts_at` (now) and `ends_at`. An alert that still lasts then is sent afterwards."
      )
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.del("expireSilence", `${silences}/:id`)
      .setPath(idPath)
      .addSuccess(Schema.Struct({ success: Schema.Literal(true), id: Schema.String }))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "End a silence now")
      .annotateContext(traits("atomic"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.get("getChannel", channel)
      .addSuccess(LogPipelineStatus)
      .annotate(OpenApi.Summary, "Read the log-pipeline channel as it is applied")
      .annotate(OpenApi.Description, "Secrets are answered as `[redacted]`.")
      .annotateContext(traits("versioned"))
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.put("updateChannel", channel)
      .setPayload(body(LogPipelineDraft))
      .addSuccess(MessageStatus)
      .addError(wire(ChannelRejected))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Configure the log-pipeline channel")
      .annotate(
        OpenApi.Description,
        "Validated, connected to, and then applied on every node at once, without a restart; where it is refused the channel stays as it is. Private and loopback targets need `NETOPS_ALLOW_PRIVATE_TARGETS`."
      )
      .annotateContext(traits("versioned"))
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.post("testChannel", `${channel}/test`)
      .setPayload(body(nothing))
      .addSuccess(Tested)
      .addError(wire(ChannelNotConfigured))
      .addError(wire(ChannelUnreachable))
      .annotate(OpenApi.Summary, "Send a test event through the channel")
      .annotateContext(optionalBody)
      .annotateContext(requires("notifications:write"))
  )
  .add(
    HttpApiEndpoint.get("listDeliveries", deliveries)
      .setUrlParams(query({
        ...PageQuery,
        status: Schema.optional(DeliveryStatus),
        rule_id: Schema.optional(Schema.UUID)
      }))
      .addSuccess(PageOf(Delivery))
      .annotate(OpenApi.Summary, "List what was sent, waits or was given up")
      .annotate(
        OpenApi.Description,
        "Newest first. Events of sign-in are listed for those who may read the audit trail."
      )
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.post("retryDelivery", `${deliveries}/:id/retry`)
      .setPath(idPath)
      .setPayload(body(nothing))
      .addSuccess(Delivery)
      .addError(wire(NotFound))
      .addError(wire(DeliveryDone))
      .annotate(OpenApi.Summary, "Send a delivery again")
      .annotate(OpenApi.Description, "What was given up has all its tries again; what waits is tried at once.")
      .annotateContext(optionalBody)
      .annotateContext(traits("atomic"))
      .annotateContext(requires("notifications:write"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({
    title: "Notifications",
    description: "Which events are told to the log pipeline, how, and what became of each."
  }))
{}
