import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AuditEntry, AuditOutcome, AuditVerdict } from "../../schema/AuditEntry.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { UserId } from "../../schema/User.ts"
import { Authentication } from "../Auth.ts"
import { query, requires } from "../Contract.ts"

const text = Schema.optional(Schema.String.pipe(Schema.pattern(/^[^\p{C}]{1,200}$/u)))

export class AuditApi extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/audit")
      .setUrlParams(query({
        ...PageQuery,
        operation: text,
        user_id: Schema.optional(Schema.compose(Schema.NumberFromString, UserId)),
        username: text,
        target: text,
        request_id: text,
        outcome: Schema.optional(AuditOutcome),
        start: Schema.optional(Schema.DateTimeUtc.annotations({ description: "entries from this time on" })),
        end: Schema.optional(Schema.DateTimeUtc.annotations({ description: "entries before this time" }))
      }))
      .addSuccess(PageOf(AuditEntry))
      .annotate(OpenApi.Summary, "List what was done")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(requires("audit:read"))
  )
  .add(
    HttpApiEndpoint.get("verify", "/api/audit/verify")
      .setUrlParams(query({
        batch: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.positive())),
        hash: Schema.optional(Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)))
      }))
      .addSuccess(AuditVerdict)
      .annotate(OpenApi.Summary, "Check the chain of audit entries")
      .annotate(
        OpenApi.Description,
        "Names every sealed entry that was changed or removed. Give the `head` of an earlier answer as `batch` and `hash` to learn also whether the end of the chain was cut off since."
      )
      .annotateContext(requires("audit:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Audit", description: "Who did what, append-only and hash-chained." }))
{}
