import { Config, DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { Dispatcher } from "../../services/notify/Dispatcher.ts"
import { Sender } from "../../services/notify/Sender.ts"
import { Outbox } from "../../services/Outbox.ts"
import { ServiceEvents } from "../../services/ServiceEvents.ts"
import { singleton } from "./singleton.ts"

const limits = Config.all({
  keep: Config.duration("NETOPS_EVENTS_KEEP").pipe(Config.withDefault(Duration.days(30))),
  queuedMax: Config.integer("NETOPS_OUTBOX_MAX").pipe(
    Config.withDefault(100_000),
    Config.validate({ message: "NETOPS_OUTBOX_MAX must be at least 1000", validation: (max) => max >= 1000 })
  )
})

const pace = { dispatch: Duration.millis(250), tidy: Duration.minutes(10) }

const forever = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.repeat(effect, { while: () => true }).pipe(Effect.asVoid)

const dispatch = Effect.flatMap(
  Dispatcher,
  ({ step }) => forever(Effect.flatMap(step, (more) => more ? Effect.void : Effect.sleep(pace.dispatch)))
)

const send = Effect.flatMap(Sender, ({ pass }) => forever(Effect.flatMap(pass, Effect.sleep)))

const tidy = Effect.gen(function*() {
  const { keep, queuedMax } = yield* limits
  const events = yield* ServiceEvents
  const outbox = yield* Outbox
  const once = Effect.gen(function*() {
    const before = DateTime.subtractDuration(yield* DateTime.now, keep)
    yield* outbox.tidy(before, queuedMax)
    yield* events.prune(before)
  })
  yield* Effect.repeat(once, Schedule.spaced(pace.tidy))
})

/**
 * Groups events, sends what comes of them and forgets what is old, each on one of all nodes. Events and deliveries are
 * kept for `NETOPS_EVENTS_KEEP` (30 days); of more than `NETOPS_OUTBOX_MAX` (100000) that wait, the oldest are dropped.
 */
export const NotificationSingletons = Layer.mergeAll(
  singleton("notification-dispatcher", dispatch),
  singleton("notification-sender", send),
  singleton("notification-tidy", tidy)
)
