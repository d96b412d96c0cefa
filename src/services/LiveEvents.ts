import { Cause, Clock, Context, Data, Duration, Effect, Layer } from "effect"
import type { DhcpEvent } from "../schema/DhcpEvent.ts"
import type { DhcpFilter, DhcpFilterId } from "../schema/DhcpFilter.ts"
import { afterBatch, isBeyond, type StreamPosition } from "../schema/StreamPosition.ts"
import type { UserId } from "../schema/User.ts"
import type { Authenticator } from "./Authenticator.ts"
import { BatchLedger, type LedgerPage } from "./BatchLedger.ts"
import { compileDhcpEventPredicate } from "./DhcpEventPredicate.ts"
import type { DhcpEvents } from "./DhcpEvents.ts"
import { DhcpFilters, type FilterMissing } from "./DhcpFilters.ts"
import type { IpGuard } from "./IpGuard.ts"
import { checkWatchers } from "./liveChecks.ts"
import { LiveLimits } from "./LiveLimits.ts"
import { isLost, type LiveChunk, lookAfter, readChunk } from "./liveRead.ts"
import { LiveWake } from "./LiveWake.ts"
import { type EndReason, type LiveItem, type Watch, Watcher } from "./liveWatcher.ts"

/** The user has as many streams open on this node as there can be. */
export class TooManyStreams extends Data.TaggedError("LiveEvents/TooManyStreams")<{ readonly max: number }> {}

/** An open stream. */
export interface LiveStream {
  /** Where it begins: what comes after that is told. */
  readonly from: StreamPosition
  /** Waits for what comes next; nothing comes after an item that says that the stream has ended. */
  readonly next: Effect.Effect<ReadonlyArray<LiveItem>>
  /** To be called whatever becomes of the stream. */
  readonly close: Effect.Effect<void>
}

/**
 * The events as they are taken in on any node, each once and in one order. One reader on each node reads what is new
 * and feeds all streams of it; a stream that goes on from an earlier position reads by itself up to where the reader
 * is. A stream whose client does not keep up is told how many events it missed, and holds nobody up.
 */
export class LiveEvents extends Context.Tag("services/LiveEvents")<
  LiveEvents,
  {
    readonly open: (
      watch: Watch,
      options: { readonly filterId?: DhcpFilterId | undefined; readonly after?: StreamPosition | undefined }
    ) => Effect.Effect<LiveStream, TooManyStreams | FilterMissing>
    /** Ends all streams, those too that are opened from now on. */
    readonly endAll: (reason: EndReason) => Effect.Effect<void>
    /** How many streams are open on this node. */
    readonly count: Effect.Effect<number>
  }
>() {}

/** Events read at once by the reader, and by a stream that goes on from an earlier position. */
const chunkMax = { reader: 1000, stream: 500 }

/** Streams that read by themselves at one time. */
const catchingUpMax = 4

/** Tests of events by filters in one go; others run in between. */
const testsMax = 20_000

/** A turn of the event loop: streams give what is queued to their sockets, so that only slow clients miss events. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const everything = () => true
const testOf = (filter: DhcpFilter | undefined): (event: DhcpEvent) => boolean =>
  filter === undefined ? everything : compileDhcpEventPredicate(filter.rules)

/** Failures of the stores are waited out. */
const patiently = <A>(what: string, effect: Effect.Effect<A>, otherwise: A): Effect.Effect<A> =>
  Effect.catchAllCause(effect, (cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause)
      : Effect.logWarning(`${what}; it is tried again`, cause).pipe(
        Effect.zipRight(Effect.sleep("1 second")),
        Effect.as(otherwise)
      ))

type Needs = Authenticator | BatchLedger | DhcpEvents | DhcpFilters | IpGuard

export const LiveEventsLive = Layer.scoped(
  LiveEvents,
  Effect.gen(function*() {
    const ledger = yield* BatchLedger
    const filters = yield* DhcpFilters
    const limits = yield* LiveLimits
    const { awaited } = yield* LiveWake
    const context = yield* Effect.context<Needs>()
    const watchers = new Set<Watcher>()
    const opened = new Map<UserId, number>()
    const occupied = Effect.unsafeMakeLatch(false)
    const catchingUp = Effect.unsafeMakeSemaphore(catchingUpMax)
    let position = afterBatch(0)
    let over: EndReason | undefined

    /** Feeds a part of a chunk to all live streams at once: a stream that joins has either all of it or none. */
    const feed = (events: LiveChunk["events"], reached: StreamPosition) => {
      const groups = new Map<Watcher["matches"], Array<Watcher>>()
      for (const watcher of watchers) {
        if (!watcher.live) continue
        const group = groups.get(watcher.matches)
        if (group === undefined) groups.set(watcher.matches, [watcher])
        else group.push(watcher)
      }
      for (const [matches, group] of groups) {
        for (const event of events) {
          const matched = matches(event.event)
          for (const watcher of group) watcher.offer(event, matched)
        }
        for (const watcher of group) if (isBeyond(reached, watcher.position)) watcher.position = reached
      }
      position = reached
    }

    const distinctTests = () => new Set([...watchers].map(({ matches }) => matches)).size

    const deliver = Effect.fnUntraced(function*({ events, reached }: LiveChunk) {
      let at = position
      for (let start = 0; start < events.length;) {
        const size = Math.max(1, Math.floor(Math.min(limits.queue / 4, testsMax / Math.max(1, distinctTests()))))
        const part = events.slice(start, start + size)
        start += size
        // Streams were opened anew meanwhile, at a later position.
        if (position !== at) return
        feed(part, at = start < events.length ? part.at(-1)!.position : reached)
        yield* turn
      }
      if (events.length === 0 && position === at) feed(events, reached)
    })

    /** The page without the oldest batches of a backlog that is too long. */
    const withinBacklog = (page: LedgerPage): LedgerPage => {
      let waiting = page.batches.reduce((sum, batch) => sum + batch.events, 0)
      let skipped = 0
      const batches = page.batches.filter(({ events, place }) => {
        if (waiting <= limits.backlog) return true
        waiting -= events
        skipped += events
        position = afterBatch(place)
        return false
      })
      if (skipped > 0) {
        for (const watcher of watchers) {
          if (!watcher.live) continue
          watcher.drop(skipped)
          if (isBeyond(position, watcher.position)) watcher.position = position
        }
      }
      return { ...page, batches }
    }

    const readOn: Effect.Effect<void, never, BatchLedger | DhcpEvents> = Effect.gen(function*() {
      for (;;) {
        const from = position
        const found = yield* lookAfter(from)
        if (position !== from) return
        const page = withinBacklog(found)
        const start = position
        if (page.batches.length === 0) return yield* deliver({ events: [], reached: afterBatch(page.settled) })
        const chunk = yield* readChunk(start, page, chunkMax.reader)
        if (position !== start) return
        yield* deliver(chunk)
      }
    })

    const whileOccupied = (what: string, step: Effect.Effect<void, never, Needs>) =>
      Effect.forkScoped(
        Effect.forever(
          Effect.zipRight(occupied.await, patiently(what, Effect.provide(step, context), undefined))
        )
      )
    yield* whileOccupied(
      "live events could not be read",
      Effect.zipRight(readOn, Effect.raceFirst(awaited, Effect.sleep(limits.poll)))
    )
    yield* whileOccupied(
      "live streams could not be checked",
      Effect.delay(Effect.suspend(() => checkWatchers(watchers, testOf)), limits.check)
    )

    const close = (watcher: Watcher) =>
      Effect.sync(() => {
        if (!watchers.delete(watcher)) return
        const left = opened.get(watcher.watch.userId)! - 1
        if (left === 0) opened.delete(watcher.watch.userId)
        else opened.set(watcher.watch.userId, left)
        if (watchers.size === 0) occupied.unsafeClose()
      })

    const beat = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const silence = now - Duration.toMillis(limits.heartbeat)
      for (const watcher of watchers) {
        // A client that went away before it asked for anything closes nothing.
        if (!watcher.started && watcher.givenAt <= silence) yield* close(watcher)
        else if (watcher.idle && watcher.givenAt <= silence) {
          watcher.beat()
          watcher.givenAt = now
        }
      }
    })
    const beatEvery = Duration.min(Duration.seconds(1), limits.heartbeat)
    yield* whileOccupied("heartbeats were not sent", Effect.delay(beat, beatEvery))

    /** What came after an earlier position, until the stream has reached the reader. */
    const catchUp: (watcher: Watcher) => Effect.Effect<ReadonlyArray<LiveItem>> = Effect.fnUntraced(
      function*(watcher) {
        while (isBeyond(position, watcher.position) && watcher.idle) {
          const from = watcher.position
          const page = yield* lookAfter(from)
          if (isLost(from, page)) {
            watcher.reset(position)
            break
          }
          const chunk = yield* readChunk(from, page, chunkMax.stream, watcher.filter?.rules)
          watcher.position = chunk.reached
          if (chunk.events.length === 0) continue
          const told = chunk.events.map((event): LiveItem => ({ _tag: "Event", event }))
          return [...told, { _tag: "Reached" as const, position: chunk.reached }]
        }
        if (!isBeyond(position, watcher.position)) watcher.live = true
        return watcher.idle ? [] : yield* watcher.take
      },
      Effect.provide(context),
      (effect) => catchingUp.withPermits(1)(effect)
    )

    const next = (watcher: Watcher): Effect.Effect<ReadonlyArray<LiveItem>> =>
      Effect.suspend(() => {
        watcher.started = true
        if (watcher.live || !watcher.idle) return watcher.take
        return patiently("earlier events could not be read", catchUp(watcher), [])
      }).pipe(Effect.tap(() =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          watcher.givenAt = now
        })
      ))

    const begin = Effect.fnUntraced(function*(
      watch: Watch,
      { after, filterId }: { readonly filterId?: DhcpFilterId | undefined; readonly after?: StreamPosition | undefined }
    ) {
      const filter = filterId === undefined ? undefined : yield* filters.get(watch.userId, filterId)
      const page = yield* ledger.read(Number.MAX_SAFE_INTEGER, 1)
      const now = yield* Clock.currentTimeMillis
      if (watchers.size === 0) position = afterBatch(page.settled)
      const same = [...watchers].find((other) =>
        other.filter?.id === filterId && other.filter?.revision === filter?.revision
      )
      const watcher = new Watcher(watch, after ?? position, filter, same?.matches ?? testOf(filter), limits.queue, now)
      if (after !== undefined && isLost(after, page)) watcher.reset(position)
      watcher.live = !isBeyond(position, watcher.position)
      if (over !== undefined) watcher.end(over)
      watchers.add(watcher)
      occupied.unsafeOpen()
      return watcher
    })

    return LiveEvents.of({
      open: Effect.fn("LiveEvents.open")(function*(watch, options) {
        const before = opened.get(watch.userId) ?? 0
        if (before >= limits.perUser) return yield* new TooManyStreams({ max: limits.perUser })
        opened.set(watch.userId, before + 1)
        const watcher = yield* begin(watch, options).pipe(
          Effect.onError(() =>
            Effect.sync(() => {
              opened.set(watch.userId, opened.get(watch.userId)! - 1)
            })
          )
        )
        return { from: watcher.position, next: next(watcher), close: close(watcher) }
      }),
      endAll: (reason) =>
        Effect.sync(() => {
          over = reason
          for (const watcher of watchers) watcher.end(reason)
        }),
      count: Effect.sync(() => watchers.size)
    })
  })
)
