import { Chunk, Effect, Option, Stream } from "effect"
import { Schema } from "effect"
import { DhcpEventFilter } from "../../schema/FilterFields.ts"
import { positionText } from "../../schema/StreamPosition.ts"
import type { LiveStream } from "../../services/LiveEvents.ts"
import type { LiveEvent, LiveItem } from "../../services/liveWatcher.ts"
import { sseFrame } from "./sse.ts"

/** After how long a client is to come back, in milliseconds. */
const retryMs = 2000

const encodeFilter = Schema.encodeSync(DhcpEventFilter)

// The frame of an event is made once for all streams of the node.
const frames = new WeakMap<LiveEvent, Uint8Array>()

const eventFrame = (live: LiveEvent): Uint8Array => {
  const known = frames.get(live)
  if (known !== undefined) return known
  const frame = sseFrame({ event: "dhcp", id: positionText(live.position), data: { id: live.id, ...live.event } })
  frames.set(live, frame)
  return frame
}

const frameOf = (item: LiveItem): Uint8Array => {
  switch (item._tag) {
    case "Event":
      return eventFrame(item.event)
    case "Dropped":
      return sseFrame({ event: "dropped", data: { count: item.count, after: positionText(item.after) } })
    case "FilterChanged": {
      const { id, name, revision, rules } = item.filter
      return sseFrame({ event: "filter", data: { id, name, revision, rules: encodeFilter(rules) } })
    }
    case "Reset":
      return sseFrame({
        event: "reset",
        id: positionText(item.from),
        data: { reason: "the position is no longer known; events were missed", resumed_at: positionText(item.from) }
      })
    case "Reached":
      return sseFrame({ comment: "heartbeat", id: positionText(item.position) })
    case "Ended":
      return sseFrame({ event: "end", data: { reason: item.reason } })
  }
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => parts.length === 1 ? parts[0]! : Buffer.concat(parts)

/** The frames of a stream up to its end; closes it whatever happens. */
export const liveFrames = (live: LiveStream): Stream.Stream<Uint8Array> =>
  Stream.concat(
    Stream.make(sseFrame({ comment: "connected", retry: retryMs, id: positionText(live.from) })),
    Stream.unfoldChunkEffect(false, (ended) =>
      ended ? Effect.succeedNone : Effect.map(live.next, (items) =>
        Option.some([
          items.length === 0 ? Chunk.empty<Uint8Array>() : Chunk.of(joined(items.map(frameOf))),
          items.at(-1)?._tag === "Ended"
        ])))
  ).pipe(Stream.ensuring(live.close))
