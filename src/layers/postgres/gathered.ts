import { Effect, Exit, Runtime } from "effect"

/** Questions asked in one round trip at most, and round trips under way at most. */
const bounds = { together: 200, underWay: 2 }

interface Waiting<K, A> {
  readonly key: K
  readonly resume: (answer: Effect.Effect<A>) => void
}

/**
 * Asks for one what `ask` answers for many, in their order: questions that come while others are under way wait for
 * them and are asked together. So the store is asked about each after it came, and seldom once for each.
 */
export const gathered = <K, A, R>(
  ask: (keys: ReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>, never, R>
): Effect.Effect<(key: K) => Effect.Effect<A>, never, R> =>
  Effect.map(Effect.runtime<R>(), (runtime) => {
    const fork = Runtime.runFork(runtime)
    let waiting: Array<Waiting<K, A>> = []
    let underWay = 0

    const next = () => {
      if (waiting.length === 0 || underWay >= bounds.underWay) return
      const asked = waiting.splice(0, bounds.together)
      underWay++
      fork(ask(asked.map(({ key }) => key))).addObserver((exit) => {
        underWay--
        next()
        asked.forEach(({ resume }, index) => resume(Exit.map(exit, (answers) => answers[index]!)))
      })
    }

    return (key) =>
      Effect.async((resume) => {
        const one = { key, resume }
        waiting.push(one)
        next()
        return Effect.sync(() => {
          waiting = waiting.filter((other) => other !== one)
        })
      })
  })
