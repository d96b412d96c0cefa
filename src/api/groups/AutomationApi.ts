import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AutomationRuleAnswer, RuleDraft, RulePreview } from "../../schema/AutomationRule.ts"
import { DetectedMac } from "../../schema/Detection.ts"
import { BackfillRequest, BackfillResult, DueWindow, SchedulerStatus, Verdict } from "../../schema/DueWindow.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { RuleRunAnswer, RunRequest, RunResult } from "../../schema/RuleRun.ts"
import { Authentication } from "../Auth.ts"
import { body, freeBody, optionalBody, path, query, requires, traits, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"

/** Answer of a delete. */
export const Deleted = Schema.Struct({ success: Schema.Literal(true), id: Schema.String }).annotations({
  identifier: "Deleted"
})

/** Result of a rule preview (specification 2.3). */
export const PreviewResult = Schema.Struct({
  status: Schema.Literal("success"),
  data: Schema.Struct({
    DetectedMacs: Schema.Array(DetectedMac),
    TotalCount: Schema.NonNegativeInt,
    Query: Schema.String.annotations({ description: "the SQL that ran, and that the scheduler runs" }),
    QueryParams: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
      description: "the values bound to the parameters of Query"
    }),
    ExecutionTimeMs: Schema.NonNegativeInt.annotations({ description: "as the analytics store reports it" })
  })
}).annotations({ identifier: "PreviewResult" })

const rules = "/api/automation/rules" as const
const rulePath = path({ id: Schema.String })

export class AutomationApi extends HttpApiGroup.make("automation")
  .add(
    HttpApiEndpoint.get("listRules", rules)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(AutomationRuleAnswer))
      .annotate(OpenApi.Summary, "List rules")
      .annotateContext(requires("automation.rules:read"))
  )
  .add(
    HttpApiEndpoint.post("createRule", rules)
      .setPayload(body(RuleDraft))
      .addSuccess(AutomationRuleAnswer, { status: 201 })
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Create a rule")
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(requires("automation.rules:write"))
  )
  .add(
    HttpApiEndpoint.post("testPreview", `${rules}/test-preview`)
      .setPayload(body(RulePreview))
      .addSuccess(PreviewResult)
      .annotate(OpenApi.Summary, "Preview a proposed rule")
      .annotate(
        OpenApi.Description,
        "Evaluates the rule on the traffic of its lookback window without saving it or acting. A run of the same rule detects the same."
      )
      .annotateContext(requires("automation.rules:preview"))
      .annotateContext(unaudited)
  )
  .add(
    HttpApiEndpoint.get("getRule", `${rules}/:id`)
      .setPath(rulePath)
      .addSuccess(AutomationRuleAnswer)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a rule")
      .annotateContext(traits("versioned"))
      .annotateContext(requires("automation.rules:read"))
  )
  .add(
    HttpApiEndpoint.put("updateRule", `${rules}/:id`)
      .setPath(rulePath)
      .setPayload(body(RuleDraft))
      .addSuccess(AutomationRuleAnswer)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Replace a rule")
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("automation.rules:write"))
  )
  .add(
    HttpApiEndpoint.del("deleteRule", `${rules}/:id`)
      .setPath(rulePath)
      .addSuccess(Deleted)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Delete a rule")
      .annotate(OpenApi.Description, "Its runs and cooldowns go with it; actions that it ordered stay.")
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("automation.rules:write"))
  )
  .add(
    HttpApiEndpoint.post("runRule", `${rules}/:id/run`)
      .setPath(rulePath)
      .setPayload(freeBody(RunRequest))
      .addSuccess(
        Schema.Struct({ data: RunResult, status: Schema.Literal("success") }).annotations({ identifier: "RunAnswer" })
      )
      .addError(wire(NotFound))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Run a rule now")
      .annotate(OpenApi.Description, "Whatever its schedule, and also when it is disabled.")
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent"))
      .annotateContext(requires("automation.rules:run"))
  )
  .add(
    HttpApiEndpoint.get("listRuns", `${rules}/:id/runs`)
      .setPath(rulePath)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(RuleRunAnswer))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "List the runs of a rule")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(requires("automation.rules:read"))
  )
  .add(
    HttpApiEndpoint.get("listWindows", `${rules}/:id/windows`)
      .setPath(rulePath)
      .setUrlParams(query({ ...PageQuery, verdict: Schema.optional(Verdict) }))
      .addSuccess(PageOf(DueWindow))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "List the due windows of a rule")
      .annotate(
        OpenApi.Description,
        "Every time at which the rule was due while it was enabled, newest first, with what became of it: also where nothing ran. Intervals are due at the multiples of their length since 1970-01-01T00:00:00Z; the window of a due time is the rule's lookback up to it."
      )
      .annotateContext(requires("automation.rules:read"))
  )
  .add(
    HttpApiEndpoint.post("backfillRule", `${rules}/:id/backfill`)
      .setPath(rulePath)
      .setPayload(body(BackfillRequest))
      .addSuccess(BackfillResult)
      .addError(wire(NotFound))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Work off missed windows")
      .annotate(
        OpenApi.Description,
        "Evaluates the windows due after `start` up to `end` that were missed or failed, oldest first and each once, at most `limit` of them. With `enforce` a client on which the rule acted within its cooldown before or after a window's time is not acted on again. Alarms are left as they are."
      )
      .annotateContext(traits("idempotent"))
      .annotateContext(requires("automation.rules:run"))
  )
  .add(
    HttpApiEndpoint.get("scheduler", "/api/automation/scheduler")
      .addSuccess(SchedulerStatus)
      .annotate(OpenApi.Summary, "Read the state of the scheduler")
      .annotateContext(requires("automation.rules:read"))
  )
  .middleware(Authentication)
  .annotateContext(
    OpenApi.annotations({ title: "Automation", description: "Rules that detect clients by their DHCP traffic." })
  )
{}
