import { Effect } from "effect"
import type { DhcpEvent } from "../schema/DhcpEvent.ts"
import type { DhcpFilter } from "../schema/DhcpFilter.ts"
import { isBeyond, type StreamPosition } from "../schema/StreamPosition.ts"
import type { UserId } from "../schema/User.ts"
import type { Credential } from "./Authenticator.ts"

/** An event on its way to all who watch: one object for all of them. */
export interface LiveEvent {
  readonly position: StreamPosition
  /** The id under which the event is listed. */
  readonly id: string
  readonly event: DhcpEvent
}

/** Why a stream ends by itself. */
export type EndReason = "session_ended" | "ip_restricted" | "filter_deleted" | "shutdown"

/** What a stream tells, in order. */
export type LiveItem =
  | { readonly _tag: "Event"; readonly event: LiveEvent }
  /** Events after `after` were left out, since the reader or the node did not keep up. */
  | { readonly _tag: "Dropped"; readonly count: number; readonly after: StreamPosition }
  | { readonly _tag: "FilterChanged"; readonly filter: DhcpFilter }
  /** The position to go on from is not known any more: the stream begins anew at `from`. */
  | { readonly _tag: "Reset"; readonly from: StreamPosition }
  /** Everything up to the position is told. */
  | { readonly _tag: "Reached"; readonly position: StreamPosition }
  | { readonly _tag: "Ended"; readonly reason: EndReason }

/** Whose stream it is, and what it is to tell. */
export interface Watch {
  readonly userId: UserId
  readonly credential: Credential
  /** Address of the client. */
  readonly address: string | undefined
}

/** Most items that are given at once: what is queued stays bounded also while it is sent. */
const takeMax = 64

/** One stream: a bounded queue between the reader of its node and its client. */
export class Watcher {
  /** How far the stream is told or queued. */
  position: StreamPosition
  /** Whether the node's reader feeds it; else it still reads by itself what came before. */
  live = false
  /** Whether anybody has asked for items yet. */
  started = false
  filter: DhcpFilter | undefined
  matches: (event: DhcpEvent) => boolean
  /** When something was last given to the client. */
  givenAt: number
  readonly watch: Watch
  readonly #queueMax: number
  #queue: Array<LiveItem> = []
  #ended = false
  #waiting: ((items: Effect.Effect<ReadonlyArray<LiveItem>>) => void) | undefined

  constructor(
    watch: Watch,
    from: StreamPosition,
    filter: DhcpFilter | undefined,
    matches: (event: DhcpEvent) => boolean,
    queueMax: number,
    now: number
  ) {
    this.watch = watch
    this.position = from
    this.filter = filter
    this.matches = matches
    this.#queueMax = queueMax
    this.givenAt = now
  }

  #put(item: LiveItem) {
    if (this.#ended) return
    this.#queue.push(item)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(Effect.sync(() => this.#drain()))
  }

  #drain(): ReadonlyArray<LiveItem> {
    return this.#queue.splice(0, takeMax)
  }

  /** Whether it waits for something to give, so that a heartbeat would be the next thing. */
  get idle(): boolean {
    return this.#queue.length === 0
  }

  /** Counts events as left out at the end of the queue. */
  drop(count: number) {
    const last = this.#queue.at(-1)
    if (last?._tag === "Dropped") this.#queue[this.#queue.length - 1] = { ...last, count: last.count + count }
    else this.#put({ _tag: "Dropped", count, after: this.position })
  }

  /** Queues an event that comes after its position, whether it matches or not. */
  offer(event: LiveEvent, matches: boolean) {
    if (!isBeyond(event.position, this.position)) return
    if (matches) {
      if (this.#queue.length >= this.#queueMax) return this.drop(1)
      this.#put({ _tag: "Event", event })
    }
    this.position = event.position
  }

  /** Says that everything up to its position is told. */
  beat() {
    this.#put({ _tag: "Reached", position: this.position })
  }

  refilter(filter: DhcpFilter, matches: (event: DhcpEvent) => boolean) {
    this.filter = filter
    this.matches = matches
    this.#put({ _tag: "FilterChanged", filter })
  }

  reset(from: StreamPosition) {
    this.position = from
    this.#put({ _tag: "Reset", from })
  }

  /** Ends it once what is queued is told; nothing is queued any more. */
  end(reason: EndReason) {
    this.#put({ _tag: "Ended", reason })
    this.#ended = true
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Waits for items. */
  readonly take: Effect.Effect<ReadonlyArray<LiveItem>> = Effect.async((resume) => {
    if (this.#queue.length > 0) return resume(Effect.sync(() => this.#drain()))
    this.#waiting = resume
    return Effect.sync(() => {
      this.#waiting = undefined
    })
  })
}
