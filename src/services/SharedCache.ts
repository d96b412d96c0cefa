import { Clock, Effect, Exit, Fiber } from "effect"

/** A value, and whether it was there already. */
export interface Cached<A> {
  readonly value: A
  readonly hit: boolean
}

interface Entry<A> {
  readonly value: A
  readonly until_ms: number
}

interface Running<A, E> {
  readonly fiber: Fiber.RuntimeFiber<A, E>
  waiting: number
}

/**
 * Values by key, computed once for all who ask at the same time. A computation goes on while anybody waits for it and
 * is interrupted with the last; failures are not kept. Of more than `capacity` values the least lately used go.
 */
export const makeSharedCache = <A, E>(capacity: number) =>
  Effect.map(Effect.scope, (scope) => {
    const entries = new Map<string, Entry<A>>()
    const running = new Map<string, Running<A, E>>()

    const fresh = (key: string, now: number): A | undefined => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      if (entry.until_ms <= now) return undefined
      entries.set(key, entry)
      return entry.value
    }

    const keep = (key: string, value: A, until_ms: number) => {
      entries.delete(key)
      entries.set(key, { value, until_ms })
      for (const oldest of entries.keys()) {
        if (entries.size <= capacity) break
        entries.delete(oldest)
      }
    }

    const start = <R>(key: string, compute: Effect.Effect<A, E, R>, ttl_ms: (value: A) => number) =>
      Effect.interruptible(compute).pipe(
        Effect.tap((value) => Effect.map(Clock.currentTimeMillis, (now) => keep(key, value, now + ttl_ms(value)))),
        Effect.forkIn(scope),
        Effect.map((fiber) => {
          const run: Running<A, E> = { fiber, waiting: 0 }
          running.set(key, run)
          fiber.addObserver(() => {
            if (running.get(key) === run) running.delete(key)
          })
          return run
        })
      )

    const leave = (key: string, run: Running<A, E>) =>
      Effect.suspend(() => {
        run.waiting -= 1
        if (run.waiting > 0) return Effect.void
        if (running.get(key) === run) running.delete(key)
        return Fiber.interruptFork(run.fiber)
      })

    /** The value of the key, if it is there. */
    const peek = (key: string) => Effect.map(Clock.currentTimeMillis, (now) => fresh(key, now))

    const get = <R>(
      key: string,
      compute: Effect.Effect<A, E, R>,
      ttl_ms: (value: A) => number
    ): Effect.Effect<Cached<A>, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const found = yield* peek(key)
          if (found !== undefined) return { value: found, hit: true }
          const run = running.get(key) ?? (yield* start(key, compute, ttl_ms))
          run.waiting += 1
          const exit = yield* restore(Fiber.await(run.fiber)).pipe(Effect.ensuring(leave(key, run)))
          return { value: yield* (exit as Exit.Exit<A, E>), hit: false }
        })
      )

    /** Whether the value is being computed, so that to ask for it makes no work. */
    const isRunning = (key: string) => Effect.sync(() => running.has(key))

    return { peek, isRunning, get }
  })
