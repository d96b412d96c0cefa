import { Either, Schema } from "effect"
import { ActionSpec, ActionType, durationMinutesMax, Tag } from "./Action.ts"
import { canonicalDuid, Duid, macOfDuid } from "./Duid.ts"
import { canonicalMac, Mac } from "./Mac.ts"
import { Reason } from "./ProtectedMac.ts"

/** A client by the name under which it is known: its MAC, or its DUID where it has none. */
export const ClientName = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) =>
      canonicalMac(text) !== undefined || canonicalDuid(text) !== undefined || "Expected a MAC address or a DUID in hex"
    )
  ).annotations({ description: "MAC address in any common notation, or DUID" }),
  Schema.String,
  { strict: true, decode: (text) => canonicalMac(text) ?? canonicalDuid(text) ?? text, encode: (client) => client }
)

/** Who a client is: what it is known by, and its MAC where it has one. */
export interface ClientIdentity {
  readonly client: string
  readonly client_mac: string | null
}

/** The client of a canonical MAC or DUID; a DUID with a MAC in it names the client of that MAC. */
export const identityOf = (name: string): ClientIdentity => {
  const mac = canonicalMac(name) ?? macOfDuid(name)
  return mac === undefined ? { client: name, client_mac: null } : { client: mac, client_mac: mac }
}

const Fields = Schema.Struct({
  client: Schema.optional(ClientName),
  client_mac: Schema.optional(Mac),
  duid: Schema.optional(Duid),
  action: Schema.optional(ActionSpec),
  type: Schema.optional(ActionType),
  tag: Schema.optional(Tag),
  duration_minutes: Schema.optional(Schema.Int.pipe(Schema.between(1, durationMinutesMax))),
  reason: Reason
})

const decodeSpec = Schema.decodeUnknownEither(ActionSpec)

/** What is ordered, of the fields in which a request can say it. */
export const specOf = (request: typeof Fields.Type): Either.Either<ActionSpec, string> => {
  const { action, duration_minutes, tag, type } = request
  if ((action === undefined) === (type === undefined)) return Either.left("Expected either action or type")
  if (action === undefined) {
    return Either.mapLeft(
      decodeSpec({ type, ...(tag && { tag }), ...(duration_minutes && { duration_minutes }) }),
      () => type === "tag" ? "Expected a tag: the type is tag" : "Only the type tag takes a tag"
    )
  }
  if (tag !== undefined) return Either.left("Expected the tag inside action")
  if (duration_minutes === undefined) return Either.right(action)
  return action.duration_minutes === undefined
    ? Either.right({ ...action, duration_minutes })
    : Either.left("Expected duration_minutes once: inside action or beside it")
}

/** Body of an order for one client: who (one of `client`, `client_mac`, `duid`) and what (`action`, or its fields). */
export const ActionRequest = Fields.pipe(
  Schema.filter((request) => {
    const names = [request.client, request.client_mac, request.duid].filter((name) => name !== undefined)
    if (names.length !== 1) return { path: ["client"], message: "Expected exactly one of client, client_mac and duid" }
    const spec = specOf(request)
    if (Either.isLeft(spec)) return { path: ["action"], message: spec.left }
    const { client_mac } = identityOf(names[0]!)
    return spec.right.type === "tag" || client_mac !== null ||
      { path: ["client"], message: "Expected a client with a MAC: without one it can only be tagged" }
  })
).annotations({ identifier: "ActionRequest" })
export type ActionRequest = typeof ActionRequest.Type
