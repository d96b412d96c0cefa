import { DateTime, Effect, Either } from "effect"
import type { FirewallConfigs, FirewallStanding } from "../FirewallConfigs.ts"
import type { FirewallGuard } from "../FirewallGuard.ts"
import type { Nft } from "../Nft.ts"
import type { Act } from "../recordAct.ts"
import { tablesOf } from "./commands.ts"
import type { makeEnforcement } from "./enforcement.ts"
import { accepted } from "./judge.ts"
import type { makePendings } from "./pendings.ts"
import { asCommands } from "./policy.ts"

/** Makes the store and the kernel agree after a crash, a reboot, or the decision of a guard. */
export const makeReconcile = ({ configs, enforcement, guards, nft, pendings, told }: {
  readonly configs: FirewallConfigs["Type"]
  readonly guards: FirewallGuard["Type"]
  readonly nft: Nft["Type"]
  readonly enforcement: ReturnType<typeof makeEnforcement>
  readonly pendings: ReturnType<typeof makePendings>
  readonly told: (act: Act) => Effect.Effect<void>
}) => {
  const did = (operation: string, standing: FirewallStanding, after: unknown) =>
    told({ by: "system:upkeep", operation, target: standing.id, after })

  /** Applies a version again, whatever of it is there. */
  const reapply = (standing: FirewallStanding, version: number) =>
    Effect.gen(function*() {
      const { ruleset } = yield* Effect.orDie(configs.revision(standing.id, version))
      const commands = asCommands(ruleset.nftables)
      const tables = tablesOf(commands)
      const left = [...standing.applied.tables, ...standing.intent?.tables ?? []].filter((name) =>
        !tables.includes(name)
      )
      const verdict = yield* accepted(nft, yield* nft.structure, commands, left)
      if (Either.isLeft(verdict)) {
        yield* Effect.logError(`firewall: ${standing.name} version ${version} can't be applied again`, verdict.left)
        const status = standing.applied.version === null ? "failed" as const : "active" as const
        return yield* Effect.orDie(configs.settle(standing.id, { ...standing, status, intent: null }))
      }
      yield* Effect.catchTag(nft.apply(verdict.right.commands), "Nft/Rejected", Effect.die)
      yield* enforcement.tidy(verdict.right)
      const applied = { version, tables, at: yield* DateTime.now, baseline: yield* enforcement.readBack(commands) }
      yield* Effect.orDie(configs.settle(standing.id, { status: "active", applied, intent: null, pending: null }))
      yield* did("firewall.reapplied", standing, { version, tables })
      yield* Effect.logInfo(`firewall: applied ${standing.name} version ${version} again`)
    })

  /** An apply that was cut off: with a guard it is taken back, without one it is carried out. */
  const finish = (standing: FirewallStanding) =>
    Effect.gen(function*() {
      const { intent } = standing
      if (intent === null) return
      if (intent.guard === null) return yield* reapply(standing, intent.version)
      const state = yield* Effect.either(guards.rollback(intent.guard))
      yield* guards.release(intent.guard)
      yield* Effect.orDie(configs.settle(standing.id, { ...standing, intent: null }))
      const outcome = Either.isRight(state) ? state.right.kind : "not begun"
      yield* did("firewall.takenBack", standing, { version: intent.version, tables: intent.tables, outcome })
      yield* Effect.logInfo(`firewall: an apply of ${standing.name} that was cut off is taken back (${outcome})`)
    })

  const lacking = (standing: FirewallStanding, running: ReadonlyArray<string>) =>
    standing.applied.tables.some((table) => !running.includes(table))

  return (start: boolean) =>
    configs.exclusively(Effect.gen(function*() {
      for (const found of yield* configs.standings) {
        const { pending } = found
        if (pending !== null) {
          const state = yield* start ? guards.revive(pending.guard) : guards.state(pending.guard)
          if (state.kind !== "pending") yield* pendings.settle(found, state, "guard")
        }
        if (found.intent !== null) yield* finish(found)
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
