import { Schema } from "effect"
import { Protocol } from "./DhcpEvent.ts"

/** A detected client (specification 2.3). */
export const DetectedMac = Schema.Struct({
  MAC: Schema.String.annotations({ description: "MAC of the client, empty where none is extractable" }),
  DUID: Schema.String.annotations({ description: "DHCPv6 DUID of the client, empty for DHCPv4" }),
  TotalRequests: Schema.NonNegativeInt.annotations({ description: "client-originated messages in the window" }),
  UniqueIPs: Schema.NonNegativeInt.annotations({
    description: "distinct assigned, client or requested addresses in the window"
  }),
  Protocol
}).annotations({ identifier: "DetectedMac" })
export type DetectedMac = typeof DetectedMac.Type

/** By what a detected client is known: its MAC, or its DUID where it has none. */
export const clientOfDetection = (detection: Pick<DetectedMac, "MAC" | "DUID">): string =>
  detection.MAC === "" ? detection.DUID : detection.MAC

/** An evaluated time range: events after `start` up to and including `end`. */
export interface Window {
  readonly start: Date
  readonly end: Date
}

/**
 * The detections as one object keyed by MAC or DUID. A client that is detected under both protocols has its DHCPv4
 * item under its MAC and its DHCPv6 one under its DUID.
 */
export const keyDetections = (rows: ReadonlyArray<DetectedMac>): Record<string, DetectedMac> => {
  const keyed = new Map<string, DetectedMac>()
  const byProtocol = [...rows].sort((a, b) => a.Protocol < b.Protocol ? -1 : a.Protocol > b.Protocol ? 1 : 0)
  for (const row of byProtocol) {
    const client = clientOfDetection(row)
    keyed.set(!keyed.has(client) ? client : row.DUID !== "" ? row.DUID : `${client} ${row.Protocol}`, row)
  }
  return Object.fromEntries(keyed)
}
