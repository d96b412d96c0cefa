import { Clock, Context, DateTime, Duration, Effect, Exit, Layer, Option, Random, Ref, Scope } from "effect"
import type { Delivery } from "../../schema/Delivery.ts"
import type { LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { LogPipeline } from "../LogPipeline.ts"
import { LogPipelineChannel, LogPipelineTransport, type Pipe, type SendFailed } from "../LogPipelineChannel.ts"
import { Outbox } from "../Outbox.ts"
import { recordOf } from "./records.ts"

const backoffLimits = { firstMillis: 1000, mostMillis: 300_000 }

/** A channel that takes nothing is tried again after this at the latest. */
const pauseMost = Duration.seconds(30)

/** How long a claim outlives the time limit of its request. */
const claimSpare = Duration.seconds(2)

const idle = Duration.millis(250)

/** Milliseconds before the next try after so many failed ones: doubling, half of it by chance. */
export const backoffMillis = (attempts: number, chance: number): number =>
  Math.min(backoffLimits.mostMillis, backoffLimits.firstMillis * 2 ** Math.min(attempts - 1, 20)) * (0.5 + chance / 2)

interface Sized {
  readonly delivery: Delivery
  readonly record: ReturnType<typeof recordOf>
}

/** Splits into requests of at most so many bytes; what is larger alone goes alone. */
export const chunksOf = (all: ReadonlyArray<Sized>, maxBytes: number): ReadonlyArray<ReadonlyArray<Sized>> => {
  const chunks: Array<Array<Sized>> = []
  let bytes = 0
  for (const each of all) {
    const size = Buffer.byteLength(each.record.json) + 1
    if (chunks.length === 0 || bytes + size > maxBytes) {
      chunks.push([])
      bytes = 0
    }
    chunks.at(-1)!.push(each)
    bytes += size
  }
  return chunks
}

interface Outcome {
  readonly delivered: ReadonlyArray<Sized>
  /** Refused by themselves. */
  readonly refused: ReadonlyArray<readonly [Sized, string]>
  /** Not taken because nothing is. */
  readonly failed: { readonly items: ReadonlyArray<Sized>; readonly error: SendFailed } | undefined
}

/** Sends all at once; where the peer refuses them, halves, until those that it refuses stand alone. */
const sendAll = (pipe: Pipe, items: ReadonlyArray<Sized>): Effect.Effect<Outcome> =>
  pipe.send(items.map(({ record }) => record)).pipe(
    Effect.as<Outcome>({ delivered: items, refused: [], failed: undefined }),
    Effect.catchAll((error): Effect.Effect<Outcome> => {
      if (error.scope === "channel") return Effect.succeed({ delivered: [], refused: [], failed: { items, error } })
      if (items.length === 1) {
        return Effect.succeed({ delivered: [], refused: [[items[0]!, error.message]], failed: undefined })
      }
      const middle = Math.ceil(items.length / 2)
      return Effect.gen(function*() {
        const first = yield* sendAll(pipe, items.slice(0, middle))
        if (first.failed !== undefined) {
          return { ...first, failed: { ...first.failed, items: [...first.failed.items, ...items.slice(middle)] } }
        }
        // Behind a refused record its group waits.
        const stuck = new Set(first.refused.map(([{ delivery }]) => `${delivery.rule_id} ${delivery.group_key}`))
        const rest = items.slice(middle).filter(({ delivery }) =>
          !stuck.has(`${delivery.rule_id} ${delivery.group_key}`)
        )
        if (rest.length === 0) return first
        const second = yield* sendAll(pipe, rest)
        return {
          delivered: [...first.delivered, ...second.delivered],
          refused: [...first.refused, ...second.refused],
          failed: second.failed
        }
      })
    })
  )

/** Takes deliveries from the outbox to the channel. */
export class Sender extends Context.Tag("services/Sender")<
  Sender,
  {
    /** Sends what is ready, at most one batch; gives how long to wait before the next. */
    readonly pass: Effect.Effect<Duration.Duration>
  }
>() {}

export const SenderLive = Layer.scoped(
  Sender,
  Effect.gen(function*() {
    const pipeline = yield* LogPipeline
    const channel = yield* LogPipelineChannel
    const transport = yield* LogPipelineTransport
    const outbox = yield* Outbox
    const opened = yield* Ref.make<
      {
        readonly revision: number
        readonly settings: LogPipelineSettings
        readonly pipe: Pipe
        readonly scope: Scope.CloseableScope
      } | undefined
    >(undefined)
    const trouble = yield* Ref.make({ failures: 0, until: 0 })

    const close = Effect.flatMap(
      Ref.getAndSet(opened, undefined),
      (old) => old === undefined ? Effect.void : Scope.close(old.scope, Exit.void)
    )
    yield* Effect.addFinalizer(() => close)

    /** The way to the pipeline as it is configured now; the one before is closed, nothing being on it. */
    const ready = Effect.gen(function*() {
      const current = yield* channel.current
      if (Option.isNone(current) || !current.value.settings.enabled) return yield* Effect.as(close, undefined)
      const held = yield* Ref.get(opened)
      if (held?.revision === current.value.revision) return held
      const target = Option.getOrUndefined(yield* pipeline.target)
      if (target === undefined) return undefined
      yield* close
      const scope = yield* Scope.make()
      const pipe = yield* Scope.extend(transport.open(target), scope)
      const next = { revision: target.revision, settings: target.settings, pipe, scope }
      yield* Ref.set(opened, next)
      yield* Ref.set(trouble, { failures: 0, until: 0 })
      if (held !== undefined) yield* outbox.hasten(yield* DateTime.now)
      return next
    })

    const settle = Effect.fnUntraced(
      function*({ delivered, failed, refused }: Outcome, { request }: LogPipelineSettings) {
        const now = yield* Clock.currentTimeMillis
        const at = DateTime.unsafeMake(now)
        const before = yield* Ref.get(trouble)
        const later = (items: ReadonlyArray<Sized>) =>
          Effect.forEach(items, ({ delivery }) =>
            Effect.map(Random.next, (chance) => ({
              id: delivery.id,
              next: DateTime.unsafeMake(now + backoffMillis(delivery.attempts + 1, chance))
            })))
        if (delivered.length > 0) {
          yield* outbox.delivered(delivered.map(({ delivery }) => delivery.id), at)
          if (before.failures > 0) yield* Effect.zipRight(outbox.hasten(at), channel.noteError(null))
          yield* Ref.set(trouble, { failures: 0, until: 0 })
        }
        for (const [item, message] of refused) {
          yield* outbox.failed(yield* later([item]), message, request.retry_attempts)
          yield* channel.noteError({ at, kind: "delivery", message })
        }
        if (failed === undefined) return
        const failures = before.failures + 1
        const wait = Math.min(Duration.toMillis(pauseMost), backoffMillis(failures, yield* Random.next))
        yield* Ref.set(trouble, { failures, until: now + wait })
        yield* outbox.failed(yield* later(failed.items), failed.error.message, request.retry_attempts)
        yield* channel.noteError({ at, kind: "delivery", message: failed.error.message })
        if (failures === 1) yield* Effect.logWarning(`log pipeline: ${failed.error.message}`)
      }
    )

    const pass = Effect.gen(function*() {
      const way = yield* ready
      if (way === undefined) return Duration.seconds(1)
      const now = yield* Clock.currentTimeMillis
      const { until } = yield* Ref.get(trouble)
      if (now < until) return Duration.min(Duration.millis(until - now), Duration.seconds(1))
      const { batch, request } = way.settings
      const at = DateTime.unsafeMake(now)
      const claimed = yield* outbox.claim({
        at,
        limit: batch.max_events,
        readyBefore: DateTime.unsafeMake(now - batch.timeout_secs * 1000),
        until: DateTime.addDuration(at, Duration.sum(Duration.seconds(request.timeout_secs), claimSpare))
      })
      if (claimed.length === 0) return idle
      const chunks = chunksOf(
        claimed.map((delivery) => ({ delivery, record: recordOf(delivery.event, delivery.notification) })),
        batch.max_bytes
      )
      const outcome = yield* sendAll(way.pipe, chunks[0]!)
      yield* settle(outcome, way.settings)
      const touched = new Set([
        ...outcome.delivered.map(({ delivery }) => delivery.id),
        ...outcome.refused.map(([{ delivery }]) => delivery.id),
        ...outcome.failed?.items.map(({ delivery }) => delivery.id) ?? []
      ])
      const untried = claimed.filter(({ id }) => !touched.has(id)).map(({ id }) => id)
      if (untried.length > 0) yield* outbox.release(untried, at)
      return Duration.zero
    })

    return Sender.of({ pass: Effect.withSpan(pass, "Sender.pass") })
  })
)
