import type { DhcpEventEncoded } from "../../schema/DhcpEvent.ts"

/** A UDP datagram that holds a DHCP message, with what the layers below say. */
export interface Datagram {
  readonly protocol: "dhcpv4" | "dhcpv6"
  readonly time_ms: number
  /** MAC of the last hop, absent where the link has none. */
  readonly linkSource: string | undefined
  readonly ipSource: string | undefined
  readonly ipDestination: string | undefined
  readonly payload: Uint8Array
}

/** What a message says of itself; `undefined` stands for what it doesn't say. */
export type MessageFields =
  & {
    readonly [K in Exclude<keyof DhcpEventEncoded, "event_time" | "protocol" | "message_type" | "source">]:
      | DhcpEventEncoded[K]
      | undefined
  }
  & Pick<DhcpEventEncoded, "message_type">
