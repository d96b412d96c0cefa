import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Alarm, AlarmComment, AlarmKind, AlarmStatus, Severity } from "../../schema/Alarm.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Instant } from "../../schema/Time.ts"
import { Authentication } from "../Auth.ts"
import { body, optionalBody, path, query, requires, traits } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused } from "../problems/access.ts"
import { AlarmOver } from "../problems/automation.ts"

const alarms = "/api/automation/alarms" as const
const alarmPath = path({ id: Schema.String })

export class AlarmsApi extends HttpApiGroup.make("alarms")
  .add(
    HttpApiEndpoint.get("list", alarms)
      .setUrlParams(query({
        ...PageQuery,
        kind: Schema.optional(AlarmKind),
        status: Schema.optional(AlarmStatus),
        rule_id: Schema.optional(Schema.UUID),
        client: Schema.optional(Schema.String.pipe(Schema.maxLength(260))),
        severity: Schema.optional(Severity),
        start: Schema.optional(Instant),
        end: Schema.optional(Instant)
      }))
      .addSuccess(PageOf(Alarm))
      .annotate(OpenApi.Summary, "List alarms")
      .annotate(OpenApi.Description, "Newest first; `start` and `end` choose those that were open in between.")
      .annotateContext(requires("automation.alarms:read"))
  )
  .add(
    HttpApiEndpoint.get("get", `${alarms}/:id`)
      .setPath(alarmPath)
      .addSuccess(Alarm)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read an alarm")
      .annotateContext(requires("automation.alarms:read"))
  )
  .add(
    HttpApiEndpoint.post("acknowledge", `${alarms}/:id/acknowledge`)
      .setPath(alarmPath)
      .setPayload(body(AlarmComment))
      .addSuccess(Alarm)
      .addError(wire(AlarmOver))
      .addError(wire(NotFound))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Acknowledge an alarm")
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("automation.alarms:write"))
  )
  .add(
    HttpApiEndpoint.post("resolve", `${alarms}/:id/resolve`)
      .setPath(alarmPath)
      .setPayload(body(AlarmComment))
      .addSuccess(Alarm)
      .addError(wire(NotFound))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Resolve an alarm")
      .annotate(
        OpenApi.Description,
        "An alarm resolves by itself when a run no longer detects its client, or when there is room on the disk again. Resolved by hand it stays so while the client is detected on and on, for the cooldown of the rule."
      )
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic"))
      .annotateContext(requires("automation.alarms:write"))
  )
  .middleware(Authentication)
  .annotateContext(
    OpenApi.annotations({
      title: "Alarms",
      description:
        "One for each rule and client that it detects, and one for the disk of the event store when it fills."
    })
  )
{}
