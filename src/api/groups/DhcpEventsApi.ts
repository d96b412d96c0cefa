import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DhcpEventFields } from "../../schema/DhcpEvent.ts"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { IngestVerdict } from "../../schema/IngestVerdict.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { parsePosition } from "../../schema/StreamPosition.ts"
import { Instant } from "../../schema/Time.ts"
import { Authentication } from "../Auth.ts"
import { query, requires, streamBody, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { IngestInterrupted, NotFound } from "../problems.ts"
import { StreamLimit } from "../problems/stream.ts"

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
      .annotateContext(unaudited)
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
  .add(
    HttpApiEndpoint.get("stream", "/api/dhcp/stream")
      .setUrlParams(query({
        filter_id: Schema.optional(
          Schema.String.annotations({ description: "one of the caller's filters; every event without" })
        )
      }))
      .setHeaders(
        Schema.Struct({
          "last-event-id": Schema.optional(
            Schema.String.pipe(
              Schema.filter((text) => parsePosition(text) !== undefined || "Expected the id of an event of this stream")
            ).annotations({ description: "goes on after the event with this id" })
          )
        }).annotations({ title: "headers" })
      )
      .addSuccess(HttpApiSchema.Text({ contentType: "text/event-stream" }))
      .addError(wire(NotFound))
      .addError(wire(StreamLimit))
      .annotate(OpenApi.Summary, "Follow DHCP events as they come in")
      .annotate(
        OpenApi.Description,
        "Server-sent events: `dhcp` (an event as it is listed, with its position as `id`), `dropped` (`count` events after the position `after` were left out, before they were filtered or since the client did not keep up), `filter` (the filter was changed and holds from here on), `reset` (events since Last-Event-ID are not known any more; goes on from now) and `end` (`reason`: `session_ended`, `ip_restricted`, `filter_deleted` or `shutdown`). Heartbeats are comments that carry the position reached. With `Last-Event-ID` every event is told once, also by another node or after a restart. A stream ends within a second of its session."
      )
      .annotateContext(requires("dhcp.events:read"))
  )
  .middleware(Authentication)
  .annotateContext(
    OpenApi.annotations({ title: "DHCP events", description: "The observed DHCPv4 and DHCPv6 traffic." })
  )
{}
