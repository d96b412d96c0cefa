import ipaddr from "ipaddr.js"

/** Where a channel's URI leads. */
export interface Target {
  readonly scheme: "http" | "https" | "tcp" | "tls"
  /** A name, or an address in canonical form without brackets. */
  readonly host: string
  readonly port: number
  /** Path and query, for http. */
  readonly path: string
}

const defaultPorts = { http: 80, https: 443, tcp: 601, tls: 6514 } as const

/** The target of a URI, or what is wrong with it. The WHATWG parser makes one form of all forms of an IPv4 address. */
export const targetOf = (type: "http" | "syslog", uri: string): Target | string => {
  const match = /^([a-z]+):\/\/(.*)$/is.exec(uri)
  const scheme = match?.[1]!.toLowerCase()
  const schemes = type === "http" ? ["http", "https"] : ["tcp", "tls"]
  if (match === null || scheme === undefined || !schemes.includes(scheme)) {
    return `Expected a URI that begins with ${schemes.join(":// or ")}://`
  }
  // Only of schemes that it knows does the parser read the host as a host.
  const url = parseUrl(`http://${match[2]}`)
  if (url === null || url.hostname === "" || url.hostname.length > 253) return "Expected a URI with a host"
  if (url.username !== "" || url.password !== "") return "Expected a URI without credentials; they belong in auth"
  if (url.hash !== "") return "Expected a URI without a fragment"
  if (type === "syslog" && (url.pathname !== "/" || url.search !== "")) return "Expected a URI of host and port alone"
  const known = scheme as Target["scheme"]
  return {
    scheme: known,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: portOf(match[2]!, url) ?? defaultPorts[known],
    path: url.pathname + url.search
  }
}

const parseUrl = (text: string): URL | null => {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

/** The port that is written: the parser leaves out 80, which it takes for the default. */
const portOf = (rest: string, url: URL): number | undefined => {
  if (url.port !== "") return Number(url.port)
  return /^[^/?#]*:0*80(?:[/?#]|$)/.test(rest) ? 80 : undefined
}

// Answered from the host's own network by a cloud's agent, though its range is public.
const metadata = new Set(["168.63.129.16"])

/**
 * Whether an address may be connected to: only public unicast. Private, loopback, link-local (and with it metadata
 * services), shared, unspecified, multicast and reserved ranges are not, nor addresses that hide an IPv4 address within
 * IPv6 (NAT64, 6to4, Teredo); a v4-mapped one is what it maps to.
 */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text) || text.includes("%")) return false
  const address = ipaddr.process(text)
  return address.range() === "unicast" && !metadata.has(address.toString())
}

/** Whether a host of a target is an address rather than a name. */
export const isAddress = (host: string): boolean => ipaddr.isValid(host)
