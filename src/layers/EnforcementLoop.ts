import { Config, Duration, Effect, Queue, Schedule, Stream } from "effect"
import { DesiredMacs } from "../services/DesiredMacs.ts"
import { Enforcer } from "../services/Enforcer.ts"
import { singleton } from "./cluster/singleton.ts"

const interval = Config.duration("NETOPS_RECONCILE_INTERVAL").pipe(Config.withDefault(Duration.seconds(30)))

/** A notification may get lost with its connection: so long at most does a change wait then. */
const tick = Duration.seconds(1)

/** Between two passes at least, so that a bulk job's many changes take few: a pass costs its process, however little it does. */
const gap = Duration.millis(200)

const pauses = Schedule.exponential("1 second").pipe(Schedule.union(Schedule.spaced("30 seconds")))

/**
 * Follows the changes of the actions, and looks at everything every `NETOPS_RECONCILE_INTERVAL` (30 seconds). While
 * the packet filter fails it is tried again at growing pauses.
 */
export const enforcementLoop = Effect.gen(function*() {
  const enforcer = yield* Enforcer
  const store = yield* DesiredMacs
  const every = yield* interval
  const signals = yield* Queue.sliding<void>(1)
  let everything = true
  const signal = (change: "actions" | "all") => {
    everything ||= change === "all"
    return Queue.offer(signals, undefined)
  }

  yield* store.changes.pipe(
    Stream.runForEach(signal),
    Effect.catchAllCause((cause) => Effect.logWarning("changes of actions can't be followed", cause)),
    Effect.repeat(Schedule.spaced(tick)),
    Effect.forkScoped
  )
  yield* Effect.forkScoped(Effect.repeat(Effect.suspend(() => signal("actions")), Schedule.spaced(tick)))
  yield* Effect.forkScoped(Effect.repeat(Effect.suspend(() => signal("all")), Schedule.spaced(every)))

  let failing = false
  const work = Effect.gen(function*() {
    yield* Queue.take(signals)
    const all = everything
    everything = false
    yield* all ? enforcer.verify : enforcer.pass
    if (failing) yield* Effect.logInfo("the packet filter is equal to the actions in force again")
    failing = false
    yield* Effect.sleep(gap)
  })
  const once = work.pipe(
    Effect.tapError(({ message }) => {
      const first = !failing
      failing = true
      return first ? Effect.logWarning(`actions aren't enforced: ${message}`) : Effect.void
    })
  )
  return yield* Effect.forever(Effect.retry(once, pauses))
})

export const EnforcementLoop = singleton("enforcement", enforcementLoop)
