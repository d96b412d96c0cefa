import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { EventSeverity, EventTypeName, ServiceEvent } from "../../schema/ServiceEvent.ts"
import { StorableTime } from "../../schema/StorableTime.ts"
import { Authentication } from "../Auth.ts"
import { query, requires } from "../Contract.ts"

const asked = {
  type: Schema.optional(EventTypeName),
  min_severity: Schema.optional(EventSeverity),
  subject: Schema.optional(Schema.String.pipe(Schema.pattern(/^[^\p{C}]{1,300}$/u)))
}

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/api/events")
      .setUrlParams(query({
        ...PageQuery,
        ...asked,
        start: Schema.optional(StorableTime),
        end: Schema.optional(StorableTime)
      }))
      .addSuccess(PageOf(ServiceEvent))
      .annotate(OpenApi.Summary, "List what happened in the service")
      .annotate(
        OpenApi.Description,
        "Newest first, in the envelope of CloudEvents 1.0. `auth.*` is listed for those who may read the audit trail."
      )
      .annotateContext(requires("notifications:read"))
  )
  .add(
    HttpApiEndpoint.get("stream", "/api/events/stream")
      .setUrlParams(query(asked))
      .setHeaders(
        Schema.Struct({
          "last-event-id": Schema.optional(
            Schema.String.pipe(Schema.maxLength(100)).annotations({
              description: "id of the last event that was received; without it the stream begins with what happens next"
            })
          )
        }).annotations({ title: "headers" })
      )
      .addSuccess(HttpApiSchema.Text({ contentType: "text/event-stream" }))
      .annotate(OpenApi.Summary, "Follow what happens in the service")
      .annotate(
        OpenApi.Description,
        "Server-sent events within about a second: `id` is the event's, `event` its type, `data` the event as JSON. With `Last-Event-ID` it goes on behind that event, without gap or repetition; where that one is no longer kept an event `gap` comes first. A comment every 15 seconds shows that it lives. It ends after an hour; reconnect."
      )
      .annotateContext(requires("notifications:read"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Events", description: "What happened in the service." }))
{}
