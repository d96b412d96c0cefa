import type { DhcpEventEncoded } from "../../schema/DhcpEvent.ts"

/** Exchanges remembered at once; the oldest is forgotten first. */
export const exchangesMax = 65_536

const keyOf = (event: DhcpEventEncoded): string | undefined =>
  event.protocol === "dhcpv6" && event.duid !== undefined && event.transaction_id !== undefined
    ? `${event.transaction_id}${event.duid}`
    : undefined

/**
 * A function to pass events through in their order: a DHCPv6 answer whose DUID holds no MAC gets the one that its
 * request showed (same DUID and transaction), so that a client isn't counted as two.
 */
export const makeAnswerMacs = (): (event: DhcpEventEncoded) => DhcpEventEncoded => {
  const seen = new Map<string, string>()
  return (event) => {
    const key = keyOf(event)
    if (key === undefined) return event
    if (event.client_mac === undefined) {
      const mac = seen.get(key)
      return mac === undefined ? event : { ...event, client_mac: mac }
    }
    if (seen.size >= exchangesMax) seen.delete(seen.keys().next().value!)
    seen.set(key, event.client_mac)
    return event
  }
}
