import { lookup as resolve } from "node:dns"
import type { LookupFunction } from "node:net"
import { connect, type Socket } from "node:net"
import { checkServerIdentity, connect as connectTls, type ConnectionOptions, rootCertificates } from "node:tls"
import type { LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { isAddress, isPublicAddress, type Target } from "../../services/notify/targets.ts"

/** An address that channels may not connect to. */
export class ForbiddenAddress extends Error {
  readonly code = "EFORBIDDEN"
  constructor(host: string) {
    super(`${host} is, or resolves to, an address that is private, local or reserved`)
  }
}

/** What decides over connections: whether addresses other than public ones are allowed, and how names resolve. */
export interface Guard {
  readonly allowPrivate: boolean
  readonly resolve: typeof resolve
}

export const systemGuard = (allowPrivate: boolean): Guard => ({ allowPrivate, resolve })

/**
 * Resolves a name for the very connection that uses the result: a name that is public when it is checked and private
 * when it is used gets nowhere. One forbidden address among several forbids the name.
 */
const guardedLookup = (guard: Guard): LookupFunction => (hostname, options, callback) => {
  guard.resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    const forbidden = !guard.allowPrivate && addresses.some(({ address }) => !isPublicAddress(address))
    if (forbidden || addresses.length === 0) return callback(new ForbiddenAddress(hostname), [])
    if (options.all === true) return callback(null, addresses)
    callback(null, addresses[0]!.address, addresses[0]!.family)
  })
}

/** Options of TLS by the settings of a channel; certificates that are none throw. */
export const tlsOptions = ({ tls }: LogPipelineSettings, { host }: Target): ConnectionOptions => ({
  rejectUnauthorized: tls.verify_certificate,
  checkServerIdentity: tls.verify_hostname ? checkServerIdentity : () => undefined,
  ...(isAddress(host) ? {} : { servername: host }),
  ...(tls.ca_file === undefined ? {} : { ca: [...rootCertificates, tls.ca_file] }),
  ...(tls.crt_file === undefined ? {} : { cert: tls.crt_file }),
  ...(tls.key_file === undefined ? {} : { key: tls.key_file }),
  ...(tls.key_pass === undefined ? {} : { passphrase: tls.key_pass })
})

/** Begins a connection to a target and nowhere else; throws where its address is forbidden as it stands. */
export const connectTo = (target: Target, settings: LogPipelineSettings, guard: Guard): Socket => {
  const { host, port, scheme } = target
  if (isAddress(host) && !guard.allowPrivate && !isPublicAddress(host)) throw new ForbiddenAddress(host)
  const options = { host, port, lookup: guardedLookup(guard), noDelay: true }
  return scheme === "https" || scheme === "tls"
    ? connectTls({ ...options, ...tlsOptions(settings, target) })
    : connect(options)
}

/** When a socket that `connectTo` gave may be written to. */
export const connectedEvent = ({ scheme }: Target) =>
  scheme === "https" || scheme === "tls" ? "secureConnect" : "connect"
