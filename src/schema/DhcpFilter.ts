import { ParseResult, Schema, SchemaAST } from "effect"
import { DhcpEventFilter } from "./FilterFields.ts"

export const DhcpFilterId = Schema.UUID.pipe(Schema.brand("DhcpFilterId"))
export type DhcpFilterId = typeof DhcpFilterId.Type

/** Most filters of one user. */
export const dhcpFiltersMax = 100

const Name = Schema.String.pipe(Schema.pattern(/^[^\p{C}]{1,120}$/u, { message: () => "Expected 1 to 120 characters" }))

/** A filter as its user states it. */
export const DhcpFilterDraft = Schema.Struct({ name: Name, rules: DhcpEventFilter }).annotations({
  identifier: "DhcpFilterDraft"
})
export type DhcpFilterDraft = typeof DhcpFilterDraft.Type

/** A user's saved filter; `revision` counts its statements from 1. */
export const DhcpFilter = Schema.Struct({
  id: DhcpFilterId,
  ...DhcpFilterDraft.fields,
  revision: Schema.Int,
  created_at: Schema.DateTimeUtc,
  updated_at: Schema.DateTimeUtc
}).annotations({ identifier: "DhcpFilter" })
export type DhcpFilter = typeof DhcpFilter.Type

const Wrapped = Schema.Struct({ rules: DhcpEventFilter, name: Schema.optional(Name) })

const Update = Schema.Struct({
  rules: Schema.typeSchema(DhcpEventFilter),
  name: Schema.optional(Schema.String)
})

const isBare = (input: unknown): boolean =>
  Array.isArray((input as { readonly rules?: unknown } | null | undefined)?.rules)

const exact = { errors: "all", onExcessProperty: "error" } as const

/** New rules of a filter: `{rules: {match?, rules: […]}, name?}`, or the rules object itself, `{match?, rules: […]}`. */
export const DhcpFilterUpdate = Schema.transformOrFail(
  Schema.declare((_): _ is unknown => true).annotations({
    identifier: "DhcpFilterUpdate",
    [SchemaAST.SurrogateAnnotationId]: Schema.Union(Wrapped, DhcpEventFilter).ast
  }),
  Update,
  {
    strict: true,
    decode: (input) =>
      isBare(input)
        ? ParseResult.map(
          ParseResult.decodeUnknown(DhcpEventFilter, exact)(input),
          (rules): DhcpFilterUpdate => ({ rules })
        )
        : ParseResult.decodeUnknown(Wrapped, exact)(input),
    encode: ({ name, rules }) =>
      ParseResult.map(
        ParseResult.encode(DhcpEventFilter)(rules),
        (json): unknown => ({ rules: json, ...(name === undefined ? {} : { name }) })
      )
  }
)
export type DhcpFilterUpdate = typeof Update.Type
