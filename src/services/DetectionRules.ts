import type { Detector } from "../schema/AutomationRule.ts"
import type { DetectedMac } from "../schema/Detection.ts"
import { type DhcpEvent, type Protocol, protocols, requestTypes } from "../schema/DhcpEvent.ts"

const types: Readonly<Record<Protocol, ReadonlyArray<string>>> = requestTypes

/** Whether a client originates messages of this type in this protocol (RFC 2131, RFC 8415). */
export const isRequestOf = ({ message_type, protocol }: Pick<DhcpEvent, "protocol" | "message_type">): boolean =>
  types[protocol].includes(message_type)

/** The protocols whose traffic the rule looks at. */
export const protocolsOf = ({ protocol }: Pick<Detector, "protocol">): ReadonlyArray<Protocol> =>
  protocol === "both" ? protocols : [protocol]

/** Whether a client with these figures is detected. */
export const reaches = (
  { min_requests, min_unique_ips, operator }: Detector["threshold"],
  { TotalRequests, UniqueIPs }: Pick<DetectedMac, "TotalRequests" | "UniqueIPs">
): boolean => {
  const requests = min_requests === undefined ? undefined : TotalRequests >= min_requests
  const addresses = min_unique_ips === undefined ? undefined : UniqueIPs >= min_unique_ips
  if (requests === undefined) return addresses === true
  if (addresses === undefined) return requests
  return operator === "and" ? requests && addresses : requests || addresses
}
