import { HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import type { IncomingMessage } from "node:http"
import { canonicalIp } from "../../schema/Ip.ts"
import type { Connection } from "../../services/Nft.ts"

/**
 * The connection that the request came by, as a packet filter of this host sees it: from a proxy where there is one.
 * None for what didn't come over TCP, and for link-local addresses with their zone.
 */
export const connection = Effect.map(HttpServerRequest.HttpServerRequest, ({ source }): Connection | undefined => {
  const { socket } = source as Partial<IncomingMessage>
  const [from, to] = [canonicalIp(socket?.remoteAddress ?? ""), canonicalIp(socket?.localAddress ?? "")]
  const port = socket?.localPort
  return from === undefined || to === undefined || port === undefined ? undefined : { from, to, port }
})
