import { Schema } from "effect"
import { ActionSpec } from "./Action.ts"
import { RuleId } from "./AutomationRule.ts"
import { Protocol } from "./DhcpEvent.ts"
import { Duid } from "./Duid.ts"
import { Filter } from "./Filter.ts"
import { dhcpEventFilterFields } from "./FilterFields.ts"
import { Cidr } from "./Ip.ts"
import { Mac } from "./Mac.ts"
import { Instant } from "./Time.ts"

const listMax = 10_000

const list = <A, I>(item: Schema.Schema<A, I>, max = listMax) =>
  Schema.Array(item).pipe(Schema.minItems(1), Schema.maxItems(max))

const prefixShape = /^[0-9a-f]{2}(?::[0-9a-f]{2}){0,5}$/

const canonicalPrefix = (text: string): string | undefined => {
  const hex = text.toLowerCase().replace(/[:.-]/g, "")
  return text.length <= 17 && /^(?:[0-9a-f]{2}){1,6}$/.test(hex) ? hex.match(/../g)!.join(":") : undefined
}

/** The first one to six octets of MACs, kept as `aa:bb:cc`. */
export const MacPrefix = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) => canonicalPrefix(text) !== undefined || "Expected 1 to 6 octets such as 00:0c:01")
  ),
  Schema.String.pipe(Schema.pattern(prefixShape)),
  { strict: true, decode: (text) => canonicalPrefix(text) ?? text, encode: (prefix) => prefix }
)

const Name = Schema.String.pipe(
  Schema.pattern(/^[^\0\p{Cs}]{1,255}$/u, { message: () => "Expected 1 to 255 characters" })
)

/** The fields by which clients are chosen; every one that is given narrows the choice. */
export const criteriaFields = {
  macs: Schema.optional(
    list(Mac).annotations({
      description: "any of these; alone, or with rule_id, they need not have been observed"
    })
  ),
  mac_prefixes: Schema.optional(list(MacPrefix, 1000)),
  duids: Schema.optional(list(Duid)),
  protocol: Schema.optional(Protocol),
  seen_since: Schema.optional(Instant.annotations({ description: "with traffic at or after this time" })),
  seen_before: Schema.optional(Instant.annotations({ description: "with traffic before this time" })),
  min_requests: Schema.optional(
    Schema.Int.pipe(Schema.between(1, 4_294_967_295)).annotations({
      description: "client-originated messages among the traffic that the other criteria choose"
    })
  ),
  subnets: Schema.optional(
    list(Cidr, 1000).annotations({
      description: "an assigned, used or requested address is in any of these"
    })
  ),
  hostnames: Schema.optional(list(Name, 1000)),
  vendor_classes: Schema.optional(list(Name, 1000)),
  rule_id: Schema.optional(RuleId.annotations({ description: "with an action in force that this rule ordered" })),
  filter: Schema.optional(Filter("BulkFilter", dhcpEventFilterFields, { nonEmpty: true })),
  all: Schema.optional(Schema.Literal(true).annotations({ description: "every client that was observed" }))
} as const

const atLeastOne = { path: ["criteria"], message: "Expected at least one criterion, or all: true" }

const isEmpty = (criteria: object): boolean => Object.values(criteria).every((value) => value === undefined)

/** Which clients a bulk action is for: at least one criterion, and no key that isn't known. */
export const BulkCriteria = Schema.Struct(criteriaFields).pipe(
  Schema.filter((criteria) => isEmpty(criteria) ? atLeastOne.message : true)
).annotations({ identifier: "BulkCriteria" })
export type BulkCriteria = typeof BulkCriteria.Type

const criteriaNames = Object.keys(criteriaFields) as ReadonlyArray<keyof typeof criteriaFields>

const PreviewFields = Schema.Struct({
  action: Schema.optionalWith(ActionSpec, { default: () => ({ type: "block" as const }) }).annotations({
    description: "what to do with them; block where it isn't said, but execute needs it said"
  }),
  criteria: Schema.optional(BulkCriteria),
  ...criteriaFields,
  reason: Schema.optional(Schema.String),
  comment: Schema.optional(Schema.String),
  metadata: Schema.optional(Schema.Unknown)
})

/** The criteria of a preview, wherever they stand in it. */
export const criteriaOf = (request: typeof PreviewFields.Type): BulkCriteria =>
  request.criteria ??
    Object.fromEntries(
      criteriaNames.filter((name) => request[name] !== undefined).map((name) => [name, request[name]])
    )

/** Body of a preview: the action, and the criteria as `criteria` or at the top level. */
export const BulkPreviewRequest = PreviewFields.pipe(
  Schema.filter((request) => {
    const own = criteriaNames.filter((name) => request[name] !== undefined)
    if (request.criteria === undefined) return own.length > 0 || atLeastOne
    return own.length === 0 ||
      { path: [own[0]!], message: "Expected the criteria either in criteria or at the top level" }
  })
).annotations({ identifier: "BulkPreviewRequest" })

/** Bulk action preview result (specification 2.4). */
export const BulkPreviewResult = Schema.Struct({
  total_count: Schema.NonNegativeInt,
  sample_macs: Schema.Array(Schema.String),
  sample_clients: Schema.Array(
    Schema.Struct({ client_mac: Schema.String, client: Schema.String })
  ).annotations({ description: "client_mac is empty for a client that is known by its DUID alone" }),
  exceeds_limit: Schema.Boolean,
  max_limit: Schema.NonNegativeInt,
  criteria_hash: Schema.String,
  match_digest: Schema.String.annotations({ description: "of the clients that match; execute refuses another set" }),
  preview_expires_at: Schema.DateTimeUtc,
  skipped_without_mac: Schema.NonNegativeInt.annotations({
    description: "clients that match but have no MAC, which this action needs"
  })
}).annotations({ identifier: "BulkPreviewResult" })
export type BulkPreviewResult = typeof BulkPreviewResult.Type
