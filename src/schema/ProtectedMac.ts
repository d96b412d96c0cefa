import { Schema } from "effect"
import { Mac } from "./Mac.ts"

/** One to 500 characters that any store keeps. */
export const Reason = Schema.String.pipe(
  Schema.pattern(/^[^\0\p{Cs}]{1,500}$/u, { message: () => "Expected 1 to 500 characters" })
)

/** An entry of the never-block list. */
export const ProtectedMac = Schema.Struct({
  mac: Schema.String,
  comment: Schema.String,
  source: Schema.Literal("config", "list").annotations({
    description: "config: NETOPS_PROTECTED_MACS, which only the configuration can change"
  }),
  created_by: Schema.NullOr(Schema.Int),
  created_at: Schema.NullOr(Schema.DateTimeUtc)
}).annotations({ identifier: "ProtectedMac" })
export type ProtectedMac = typeof ProtectedMac.Type

export const ProtectedMacDraft = Schema.Struct({ mac: Mac, comment: Schema.optional(Reason) })
