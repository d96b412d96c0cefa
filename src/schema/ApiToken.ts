import { Schema } from "effect"
import { Cidr } from "./Ip.ts"
import { Permission } from "./Permission.ts"

export const ApiTokenId = Schema.UUID.pipe(Schema.brand("ApiTokenId"))
export type ApiTokenId = typeof ApiTokenId.Type

const fields = {
  name: Schema.String.pipe(
    Schema.pattern(/^[^\p{Cc}\p{Cs}]{1,100}$/u, { message: () => "Expected 1 to 100 characters without controls" })
  ),
  scopes: Schema.Array(Permission).pipe(Schema.minItems(1), Schema.maxItems(100)).annotations({
    description:
      "permissions of the token; what its owner's role lacks at the time of a request is refused all the same"
  }),
  allowedNetworks: Schema.Array(Cidr).pipe(Schema.maxItems(100)).annotations({
    description: "networks the token may be used from; empty: any"
  })
}

/** A token for programs, without its secret. */
export const ApiToken = Schema.Struct({
  id: ApiTokenId,
  ...fields,
  createdAt: Schema.DateTimeUtc,
  expiresAt: Schema.NullOr(Schema.DateTimeUtc),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtc).annotations({ description: "to the minute" })
}).annotations({ identifier: "ApiToken" })
export type ApiToken = typeof ApiToken.Type

/** What a new token is asked to be; without `expiresAt` it lives until it is deleted. */
export const ApiTokenDraft = Schema.Struct({
  name: fields.name,
  scopes: fields.scopes,
  allowedNetworks: Schema.optional(fields.allowedNetworks),
  expiresAt: Schema.optional(Schema.NullOr(Schema.DateTimeUtc))
})
export type ApiTokenDraft = typeof ApiTokenDraft.Type
