import { Schema } from "effect"
import { ConfirmSeconds, confirmSeconds, Ruleset } from "../../schema/FirewallConfig.ts"

/** A ruleset, or the document of nft that is one. */
export const ValidationRequest = Schema.Struct({
  ruleset: Schema.optional(Ruleset.annotations({ parseOptions: { onExcessProperty: "error" } })),
  nftables: Schema.optional(Ruleset.fields.nftables)
}).pipe(
  Schema.filter(({ nftables, ruleset }) =>
    (nftables === undefined) !== (ruleset === undefined) || "Expected either `ruleset` or `nftables`"
  )
)

export const ApplyBody = Schema.Struct({
  confirm_timeout_seconds: Schema.optional(
    Schema.Int.pipe(Schema.between(0, confirmSeconds.max)).annotations({
      description: "0 applies plainly; otherwise unconfirmed tables go at the deadline"
    })
  ),
  comment: Schema.optional(Schema.String.pipe(Schema.maxLength(2000))),
  expected_version: Schema.optional(Schema.Int),
  adopt: Schema.optional(Schema.Boolean.annotations({ description: "replace tables that others put into the kernel" }))
})

export const ExtendBody = Schema.Struct({ seconds: ConfirmSeconds })
