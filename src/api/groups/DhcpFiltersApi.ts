import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DhcpFilter, DhcpFilterDraft, DhcpFilterId, DhcpFilterUpdate } from "../../schema/DhcpFilter.ts"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Authentication } from "../Auth.ts"
import { body, path, query, requires, traits, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"
import { FilterLimit } from "../problems/stream.ts"
import { Deleted } from "./AutomationApi.ts"

/** Longest time over which the match rate of a filter is counted, in minutes. */
export const rateMinutesMax = 60

const ValidationRequest = Schema.Struct({
  rules: Schema.Unknown.pipe(Schema.filter((rules) => rules !== undefined || "Expected rules")).annotations({
    jsonSchema: {},
    description: "a DhcpEventFilter, or the array of its rules; whatever is wrong with it is said in the answer"
  }),
  match: Schema.optional(Schema.Unknown.annotations({ jsonSchema: {}, description: "beside an array of rules" })),
  lookback_minutes: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, rateMinutesMax)), { default: () => 5 })
}).annotations({ identifier: "DhcpFilterValidationRequest" })

const FilterError = Schema.Struct({
  pointer: Schema.String.annotations({ description: "RFC 6901, below the filter" }),
  message: Schema.String
}).annotations({ identifier: "FilterError" })

const Validation = Schema.Struct({
  valid: Schema.Boolean,
  errors: Schema.Array(FilterError),
  canonical: Schema.NullOr(DhcpEventFilter).annotations({
    description: "the filter as it is stored: values in their canonical form; null where it is not valid"
  }),
  matched: Schema.NullOr(Schema.NonNegativeInt).annotations({ description: "events that it would have matched" }),
  total: Schema.NullOr(Schema.NonNegativeInt).annotations({ description: "events of the time looked at" }),
  match_rate: Schema.NullOr(Schema.Number).annotations({ description: "matched of total, null where there are none" }),
  lookback_minutes: Schema.Int
}).annotations({ identifier: "DhcpFilterValidation" })

const filters = "/api/dhcp-filters" as const
const filterPath = path({ id: Schema.String })

export class DhcpFiltersApi extends HttpApiGroup.make("dhcpFilters")
  .add(
    HttpApiEndpoint.get("list", filters)
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(DhcpFilter))
      .annotate(OpenApi.Summary, "List my filters")
      .annotate(OpenApi.Description, "Newest first.")
  )
  .add(
    HttpApiEndpoint.post("create", filters)
      .setPayload(body(DhcpFilterDraft))
      .addSuccess(DhcpFilter, { status: 201 })
      .addError(wire(FilterLimit))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Create a filter")
      .annotateContext(traits("idempotent", "atomic", "versioned"))
  )
  .add(
    HttpApiEndpoint.post("validate", `${filters}/validate`)
      .setPayload(body(ValidationRequest))
      .addSuccess(Validation)
      .annotate(OpenApi.Summary, "Validate a filter")
      .annotate(
        OpenApi.Description,
        "Takes `{rules: {match?, rules: […]}}` or the rules object itself, says all that is wrong with it, and counts how many of the events of the last minutes it matches."
      )
      .annotateContext(requires("dhcp.events:read"))
      .annotateContext(unaudited)
  )
  .add(
    HttpApiEndpoint.get("get", `${filters}/:id`)
      .setPath(filterPath)
      .addSuccess(DhcpFilter)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a filter")
      .annotateContext(traits("versioned"))
  )
  .add(
    HttpApiEndpoint.put("update", `${filters}/:id`)
      .setPath(filterPath)
      .setPayload(body(DhcpFilterUpdate))
      .addSuccess(
        Schema.Struct({ success: Schema.Literal(true), id: DhcpFilterId }).annotations({ identifier: "FilterUpdated" })
      )
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Change the rules of a filter")
      .annotate(
        OpenApi.Description,
        "Takes `{rules: {match?, rules: […]}}`, with a `name` to rename it too, or the rules object itself. Open streams go by the new rules within a second."
      )
      .annotateContext(traits("atomic", "versioned"))
  )
  .add(
    HttpApiEndpoint.del("remove", `${filters}/:id`)
      .setPath(filterPath)
      .addSuccess(Deleted)
      .addError(wire(NotFound))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Delete a filter")
      .annotate(
        OpenApi.Description,
        "Streams that use it end. Where it is the `default_filter_id` of the settings, that becomes null."
      )
      .annotateContext(traits("atomic", "versioned"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({
    title: "DHCP filters",
    description: "Filters on DHCP events, each of one user: nobody else sees or uses them."
  }))
{}
