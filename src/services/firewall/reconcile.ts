import { Effect, Either } from "effect"
import type { FirewallConfigs, FirewallStanding } from "../FirewallConfigs.ts"
import type { FirewallGuard, GuardUnavailable } from "../FirewallGuard.ts"
import type { Nft } from "../Nft.ts"
import type { Act } from "../recordAct.ts"
import { tablesOf } from "./commands.ts"
import type { makePendings } from "./pendings.ts"
import type { makeRecovery } from "./recovery.ts"

/** Makes the store and the kernel agree after a crash, a reboot, or the decision of a guard. */
export const makeReconcile = ({ configs, guards, nft, pendings, recovery, told }: {
  readonly configs: FirewallConfigs["Type"]
  readonly guards: FirewallGuard["Type"]
  readonly nft: Nft["Type"]
  readonly pendings: ReturnType<typeof makePendings>
  readonly recovery: ReturnType<typeof makeRecovery>
  readonly told: (act: Act) => Effect.Effect<void>
}) => {
  const did = (operation: string, standing: FirewallStanding, after: unknown) =>
    told({ by: "system:upkeep", operation, target: standing.id, after })

  const warned = new Set<string>()

  /** Applies a version again, whatever of it is there. */
  const reapply = (standing: FirewallStanding, version: number) =>
    Effect.gen(function*() {
      const applied = yield* recovery.carryOut(standing, version)
      if (applied === null) {
        const status = standing.applied.version === null ? "failed" as const : "active" as const
        return yield* Effect.orDie(configs.settle(standing.id, { ...standing, status, intent: null }))
      }
      yield* Effect.orDie(configs.settle(standing.id, { status: "active", applied, intent: null, pending: null }))
      yield* did("firewall.reapplied", standing, { version, tables: applied.tables })
      yield* Effect.logInfo(`firewall: applied ${standing.name} version ${version} again`)
    })

  /** An apply that was cut off: with a guard it is taken back, without one it is carried out. */
  const finish = (standing: FirewallStanding) =>
    Effect.gen(function*() {
      const { applied, intent } = standing
      if (intent === null) return
      if (intent.guard === null) return yield* reapply(standing, intent.version)
      const state = yield* Effect.either(guards.rollback(intent.guard))
      const isRestored = Either.isRight(state) && state.right.kind === "restored"
      // Without its guard the apply may have come to the kernel or not; what it would adopt isn't ours until it did.
      const isBegun = !isRestored && (applied.version !== null || (yield* recovery.has(standing, intent.version)))
      const previous = isBegun ? yield* recovery.restore(standing, applied) : applied
      yield* guards.release(intent.guard)
      yield* Effect.orDie(configs.settle(
        standing.id,
        previous === null
          ? { ...standing, status: "failed", intent: null }
          : { ...standing, applied: previous, intent: null }
      ))
      const outcome = previous === null ? "failed" : isRestored || isBegun ? "restored" : "not begun"
      yield* did("firewall.takenBack", standing, { version: intent.version, tables: intent.tables, outcome })
      yield* Effect.logInfo(`firewall: an apply of ${standing.name} that was cut off is taken back`)
    })

  const lacking = (standing: FirewallStanding, running: ReadonlyArray<string>) =>
    standing.applied.tables.some((table) => !running.includes(table))

  /** What keeps one configuration from being settled keeps no other; it is said once. */
  const alone = <A, E>(standing: FirewallStanding, effect: Effect.Effect<A, E | GuardUnavailable>) =>
    Effect.catchIf(
      Effect.tap(effect, () => warned.delete(standing.id)),
      (error): error is GuardUnavailable => (error as GuardUnavailable)._tag === "FirewallGuard/Unavailable",
      ({ message }) => {
        if (warned.has(standing.id)) return Effect.void
        warned.add(standing.id)
        return Effect.logWarning(`firewall: the apply of ${standing.name} can't be settled yet: ${message}`)
      }
    )

  return (start: boolean) =>
    configs.exclusively(Effect.gen(function*() {
      for (const found of yield* configs.standings) {
        yield* alone(found, Effect.flatMap(pendings.decided(found, start), finish))
      }
      if (!start) return
      const running = tablesOf(yield* nft.structure)
      for (const standing of yield* configs.standings) {
        const { version } = standing.applied
        if (standing.status === "active" && version !== null && lacking(standing, running)) {
          yield* reapply(standing, version)
        }
      }
    })).pipe(Effect.uninterruptible)
}
