import type { HttpServerRequest } from "@effect/platform"
import { Config, ConfigError, Context, Effect, Either, Layer, Option } from "effect"
import { canonicalIp, inRange, ipOctets, type IpRange, parseCidr } from "../../schema/Ip.ts"

/** The header in which the trusted proxies tell from whom a request came. */
export type ProxyHeader = "x-forwarded-for" | "forwarded"

/** Which peers are believed, and what. */
export interface ProxyTrust {
  readonly trusted: ReadonlyArray<IpRange>
  readonly header: ProxyHeader
}

/** The node of an element: an address, an address with a port, or a v6 address in brackets (RFC 7239 section 6). */
const addressOf = (node: string): string | undefined => {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node)
  if (bracketed !== null) return canonicalIp(bracketed[1]!)
  return canonicalIp(node.replace(/^([^:]*):\d{1,5}$/, "$1"))
}

/** Splits at a separator that stands outside of quoted strings. */
const splitOutsideQuotes = (text: string, separator: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let part = ""
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === "\"") quoted = !quoted
    if (quoted && character === "\\") part += text[++i] ?? ""
    else if (character === separator && !quoted) {
      parts.push(part)
      part = ""
    } else part += character
  }
  return [...parts, part]
}

const forwardedFor = (element: string): string => {
  for (const pair of splitOutsideQuotes(element, ";")) {
    const [name = "", ...value] = pair.split("=")
    if (name.trim().toLowerCase() === "for") return value.join("=").trim().replaceAll("\"", "")
  }
  return ""
}

const nodesOf = (header: ProxyHeader, value: string): ReadonlyArray<string> =>
  header === "forwarded"
    ? splitOutsideQuotes(value, ",").map(forwardedFor)
    : value.split(",").map((node) => node.trim())

const isTrusted = (trust: ProxyTrust, address: string): boolean => {
  const octets = ipOctets(address)!
  return trust.trusted.some((range) => inRange(range, octets))
}

/**
 * The address of the client: the peer of the socket, or, as long as trusted proxies tell, the next one that they name,
 * from the right. What can't be read ends the walk at the last address that is known.
 */
export const clientAddress = (
  peer: string | undefined,
  header: string | undefined,
  trust: ProxyTrust
): string | undefined => {
  const known = peer === undefined ? undefined : canonicalIp(peer.replace(/%.*$/, ""))
  if (known === undefined || header === undefined) return known
  let address = known
  for (const node of nodesOf(trust.header, header).slice().reverse()) {
    if (!isTrusted(trust, address)) return address
    const next = addressOf(node)
    if (next === undefined) return address
    address = next
  }
  return address
}

const networks = Config.string("NETOPS_TRUSTED_PROXIES").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const parsed: Array<IpRange> = []
    for (const entry of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
      const range = parseCidr(entry)
      if (range === undefined) {
        return Either.left(
          ConfigError.InvalidData(
            ["NETOPS_TRUSTED_PROXIES"],
            "Expected networks such as 10.0.0.0/8, separated by commas"
          )
        )
      }
      parsed.push(range)
    }
    return Either.right(parsed)
  })
)

const header = Config.literal("x-forwarded-for", "forwarded")("NETOPS_PROXY_HEADER").pipe(
  Config.withDefault("x-forwarded-for" as const)
)

/**
 * Tells from which address a request comes; none where the peer has no address. `NETOPS_TRUSTED_PROXIES` names the
 * peers whose word is taken, `NETOPS_PROXY_HEADER` the one header that they set: another one that a client may have
 * sent through them is never read.
 */
export class ClientAddress extends Context.Tag("http/ClientAddress")<
  ClientAddress,
  { readonly of: (request: HttpServerRequest.HttpServerRequest) => string | undefined }
>() {}

export const ClientAddressLive = Layer.effect(
  ClientAddress,
  Effect.map(Config.all({ networks, header }), ({ header, networks }) =>
    ClientAddress.of({
      of: (request) =>
        clientAddress(Option.getOrUndefined(request.remoteAddress), request.headers[header], {
          trusted: networks,
          header
        })
    }))
)
