import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { RetentionChange, RetentionChanged, RetentionConfig } from "../../schema/Retention.ts"
import { Authentication } from "../Auth.ts"
import { body, requires } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"

export class RetentionApi extends HttpApiGroup.make("retention")
  .add(
    HttpApiEndpoint.get("config", "/api/config/retention")
      .addSuccess(RetentionConfig)
      .annotate(OpenApi.Summary, "Read how long data are kept, and the disk")
      .annotateContext(requires("config.retention:read"))
  )
  .add(
    HttpApiEndpoint.put("change", "/api/config/retention")
      .setPayload(body(RetentionChange))
      .addSuccess(RetentionChanged)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Set how long data are kept")
      .annotate(
        OpenApi.Description,
        "Answers the rows and bytes that go. They go for good, in the background, by whole partitions. With `dry_run` nothing is changed."
      )
      .annotateContext(requires("config.retention:write"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Retention", description: "How long observed data are kept." }))
{}
