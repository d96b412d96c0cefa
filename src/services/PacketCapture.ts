import { Context, Data, type Stream } from "effect"
import type { DhcpEventEncoded } from "../schema/DhcpEvent.ts"

/** The capture tool isn't installed; the message says how to install it. */
export class CaptureToolMissing extends Data.TaggedError("CaptureToolMissing")<{
  readonly tool: string
  readonly message: string
}> {}

/** Why packets can't be read: `other` is the tool's own trouble, in its own words. */
export type CaptureFailure = "not-found" | "not-a-capture" | "permission" | "no-such-interface" | "other"

/** The capture at `from` (a file or an interface) can't be read, or not to its end. */
export class CaptureFailed extends Data.TaggedError("CaptureFailed")<{
  readonly reason: CaptureFailure
  readonly from: string
  readonly message: string
}> {}

export type CaptureError = CaptureToolMissing | CaptureFailed

/**
 * DHCP messages seen on the wire as canonical events, in the order captured. A relayed message counts as the message
 * inside. What names no client and what is no DHCP message of a type we know is left out. A file that is cut short
 * gives the events before the cut and logs a warning.
 */
export class PacketCapture extends Context.Tag("services/PacketCapture")<
  PacketCapture,
  {
    /** Events of a capture file (pcap, pcapng, also gzipped); `source` is the file's base name. */
    readonly fromFile: (path: string) => Stream.Stream<DhcpEventEncoded, CaptureError>
    /** Events of a live interface until the stream is interrupted; `source` is the interface's name. */
    readonly fromInterface: (name: string) => Stream.Stream<DhcpEventEncoded, CaptureError>
  }
>() {}
