import { HttpServerResponse } from "@effect/platform"
import type { Stream } from "effect"

/** What one frame of a stream of server-sent events holds; `data` is sent as JSON, which has no line breaks. */
export interface SseFrame {
  readonly comment?: string
  readonly event?: string
  readonly id?: string
  readonly data?: unknown
  /** After how many milliseconds a client is to come back. */
  readonly retry?: number
}

const utf8 = new TextEncoder()

/** A frame as it is sent (WHATWG HTML, section 9.2). */
export const sseFrame = ({ comment, data, event, id, retry }: SseFrame): Uint8Array => {
  let text = comment === undefined ? "" : `: ${comment}\n`
  if (retry !== undefined) text += `retry: ${retry}\n`
  if (event !== undefined) text += `event: ${event}\n`
  if (id !== undefined) text += `id: ${id}\n`
  if (data !== undefined) text += `data: ${JSON.stringify(data)}\n`
  return utf8.encode(`${text}\n`)
}

/** A frame that tells nothing but that the connection is alive. */
export const heartbeat = sseFrame({ comment: "heartbeat" })

/** An answer of frames that is neither kept nor held back on its way. */
export const sseResponse = <E>(frames: Stream.Stream<Uint8Array, E>) =>
  HttpServerResponse.stream(frames, {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })
