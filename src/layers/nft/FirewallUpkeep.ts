import { Config, DateTime, Duration, Effect, Layer, Ref, Schedule } from "effect"
import { hostname } from "node:os"
import { isFiring } from "../../services/eventStates.ts"
import { Firewall } from "../../services/Firewall.ts"
import { ServiceEvents } from "../../services/ServiceEvents.ts"

const driftInterval = Config.duration("NETOPS_NFT_DRIFT_INTERVAL").pipe(Config.withDefault(Duration.minutes(1)))

/** How often what guards decided is taken down. */
const settleInterval = Duration.seconds(1)

const make = Effect.gen(function*() {
  const firewall = yield* Firewall
  const events = yield* ServiceEvents
  const every = yield* driftInterval
  const begun = yield* Ref.make(false)
  const drifted = yield* Ref.make<ReadonlySet<string> | undefined>(undefined)
  const node = hostname()

  // Until the first success each try is a first one: what a reboot took is applied again as soon as nft answers.
  const settle = Effect.gen(function*() {
    const start = !(yield* Ref.get(begun))
    yield* firewall.reconcile(start)
    yield* Ref.set(begun, true)
  })

  const compare = Effect.gen(function*() {
    const { drift } = yield* firewall.running
    const now = new Set(drift.filter(({ diff }) => !diff.identical).map(({ id }) => String(id)))
    const known = yield* Ref.get(drifted)
    for (const { diff, id, name } of drift) {
      const subject = `nft/${id}/${node}`
      // After a start what was told last is all that is known.
      const before = known?.has(id) ?? (yield* isFiring("nft.config.drifted", subject))
      if (now.has(id) === before) continue
      const { added, changed, removed } = diff
      if (now.has(id)) {
        yield* Effect.logWarning(`firewall: what runs isn't what ${name} applied`).pipe(
          Effect.annotateLogs({ config: id, added, changed, removed })
        )
      }
      yield* events.publish([{
        type: now.has(id) ? "nft.config.drifted" : "nft.config.drift_ended",
        subject,
        severity: "critical",
        time: yield* DateTime.now,
        data: {
          config_id: id,
          config_name: name,
          node,
          added,
          removed,
          changed
        }
      }])
    }
    yield* Ref.set(drifted, now)
  })

  const calmly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catchAllCause(effect, (cause) => Effect.logDebug("firewall: upkeep failed, and is tried again", cause))

  yield* Effect.catchAllCause(settle, (cause) => Effect.logWarning("firewall: what should run is not known", cause))
  yield* Effect.forkScoped(
    Effect.repeat(calmly(Effect.zipRight(settle, firewall.verify)), Schedule.spaced(settleInterval))
  )
  yield* Effect.forkScoped(Effect.repeat(Effect.delay(calmly(compare), every), Schedule.spaced(Duration.zero)))
})

/**
 * Keeps the store in agreement with the kernel: first thing at the start, before requests are taken, what a crash or a
 * reboot left undone; then what guards decide; and every `NETOPS_NFT_DRIFT_INTERVAL` (1 minute) it logs what drifted.
 */
export const FirewallUpkeep = Layer.scopedDiscard(make)
