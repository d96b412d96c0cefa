import { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Option } from "effect"
import { canonicalIp } from "../../schema/Ip.ts"

/** Stands where a request has no address: a connection that is gone, or none at all. */
const unspecified = "::"

/** How the canonical address of a request's client is found; the socket's own, a v4-mapped one as its IPv4 one. */
export class ClientAddress extends Context.Reference<ClientAddress>()("http/ClientAddress", {
  defaultValue: () => (request: HttpServerRequest.HttpServerRequest): string =>
    canonicalIp(Option.getOrElse(request.remoteAddress, () => unspecified)) ?? unspecified
}) {}

/** The canonical address of the client of the request at hand. */
export const clientAddress = Effect.zipWith(
  ClientAddress,
  HttpServerRequest.HttpServerRequest,
  (addressOf, request) => addressOf(request)
)
