import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DhcpEventFields } from "../../schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { IngestVerdict } from "../../schema/IngestVerdict.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Instant } from "../../schema/Time.ts"
import { Authentication } from "../Auth.ts"
import { query, requires, streamBody } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { IngestInterrupted } from "../problems.ts"

/** An event as listed: with the id under which it is stored. */
export const StoredDhcpEvent = Schema.Struct({
  id: Schema.String.annotations({ description: "position in the order of ingestion" }),
  ...DhcpEventFields.fields
}).annotations({ identifier: "StoredDhcpEvent" })

export class DhcpEventsApi extends HttpApiGroup.make("dhcpEvents")
  .add(
    HttpApiEndpoint.post("ingest", "/api/dhcp/events")
      .setPayload(HttpApiSchema.Text({ contentType: "application/x-ndjson" }))
      .setHeaders(
        Schema.Struct({
          "idempotency-key": Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)))
        }).annotations({ title: "headers" })
      )
      .addSuccess(IngestVerdict)
      .addError(wire(IngestInterrupted))
      .annotate(OpenApi.Summary, "Ingest DHCP events")
      .annotate(
        OpenApi.Description,
        "A stream of any size, one event as JSON a line. A bad line rejects that line alone. What is counted as accepted is stored. With an `Idempotency-Key` the same stream sent again is stored once."
      )
      .annotateContext(streamBody("application/x-ndjson"))
      .annotateContext(requires("dhcp.events:ingest"))
  )
  .add(
    HttpApiEndpoint.get("list", "/api/dhcp/events")
      .setUrlParams(query({
        ...PageQuery,
        filter: Schema.optional(
          Schema.parseJson(DhcpEventFilter).annotations({
            jsonSchema: { type: "string", contentMediaType: "application/json" },
            description: "a DhcpEventFilter as URL-encoded JSON"
          })
        ),
        start: Schema.optional(Instant.annotations({ description: "events after this time; default 24 h before end" })),
        end: Schema.optional(Instant.annotations({ description: "events up to this time; default now" })),
        count: Schema.optional(Schema.Literal("true", "false").annotations({ description: "count all matches too" }))
      }))
      .addSuccess(PageOf(StoredDhcpEvent))
      .annotate(OpenApi.Summary, "List DHCP events")
      .annotate(OpenApi.Description, "Newest first. `total` is null unless `count=true`.")
      .annotateContext(requires("dhcp.events:read"))
  )
  .middleware(Authentication)
  .annotateContext(
    OpenApi.annotations({ title: "DHCP events", description: "The observed DHCPv4 and DHCPv6 traffic." })
  )
{}
