import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { IngestVerdict } from "../../schema/IngestVerdict.ts"
import { Authentication } from "../Auth.ts"
import { requires, streamBody, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { IngestInterrupted } from "../problems.ts"

export class FirewallEventsApi extends HttpApiGroup.make("firewallEvents")
  .add(
    HttpApiEndpoint.post("ingest", "/api/firewall/events")
      .setPayload(HttpApiSchema.Text({ contentType: "application/x-ndjson" }))
      .setHeaders(
        Schema.Struct({
          "idempotency-key": Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)))
        }).annotations({ title: "headers" })
      )
      .addSuccess(IngestVerdict)
      .addError(wire(IngestInterrupted))
      .annotate(OpenApi.Summary, "Ingest what firewalls logged")
      .annotate(
        OpenApi.Description,
        "A stream of any size, one event as JSON a line: `event_time`, `action` (allow, drop, reject), `direction` (in, out), `src_ip`, `dst_ip`, and where known `protocol`, `src_port`, `dst_port`, `interface`, `rule`, `bytes`, `source`. A bad line rejects that line alone. What is counted as accepted is stored. With an `Idempotency-Key` the same stream sent again is stored once."
      )
      .annotateContext(streamBody("application/x-ndjson"))
      .annotateContext(requires("firewall.events:ingest"))
      .annotateContext(unaudited)
  )
  .middleware(Authentication)
  .annotateContext(
    OpenApi.annotations({ title: "Firewall events", description: "What the firewalls of the network decided." })
  )
{}
