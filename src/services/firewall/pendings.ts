import { Effect } from "effect"
import type { FirewallConfigId } from "../../schema/FirewallConfig.ts"
import { NothingPending } from "../Firewall.ts"
import type { FirewallConfigMissing, FirewallConfigs, FirewallRecord, FirewallStanding } from "../FirewallConfigs.ts"
import type { FirewallGuard, GuardState, GuardUnavailable } from "../FirewallGuard.ts"
import type { Act } from "../recordAct.ts"

/** Takes down what a guard decided, and asks it to decide. */
export const makePendings = (
  configs: FirewallConfigs["Type"],
  guards: FirewallGuard["Type"],
  told: (act: Act) => Effect.Effect<void>
) => {
  const settle = (
    standing: FirewallStanding,
    state: GuardState,
    by: "guard" | "request"
  ): Effect.Effect<FirewallStanding> =>
    Effect.gen(function*() {
      const { id, name, pending } = standing
      if (pending === null || state.kind === "restoring") return standing
      const next = state.kind === "pending"
        ? { ...standing, pending: { ...pending, deadline: state.deadline } }
        : state.kind === "confirmed"
        ? { ...standing, status: "active" as const, pending: null }
        : {
          ...standing,
          status: state.kind === "failed"
            ? "failed" as const
            : pending.previous.version === null
            ? "inactive" as const
            : "active" as const,
          applied: pending.previous,
          pending: null
        }
      yield* Effect.orDie(configs.settle(id, next))
      if (state.kind !== "pending") {
        // What users ask of it is recorded where they ask.
        if (by === "guard") {
          yield* told({
            by: "system:guard",
            operation: `firewall.${state.kind}`,
            target: id,
            before: { version: standing.applied.version, tables: standing.applied.tables },
            after: { status: next.status, version: next.applied.version, tables: next.applied.tables }
          })
        }
        yield* guards.release(pending.guard)
        yield* Effect.logInfo(`firewall: ${name} ${state.kind}`).pipe(Effect.annotateLogs({ config: id }))
      }
      return next
    })

  /** The standing once what its guard decided meanwhile is taken down. */
  const decided = (standing: FirewallStanding): Effect.Effect<FirewallStanding, GuardUnavailable> => {
    const { pending } = standing
    return pending === null
      ? Effect.succeed(standing)
      : Effect.flatMap(
        guards.state(pending.guard),
        (state) => state.kind === "pending" ? Effect.succeed(standing) : settle(standing, state, "guard")
      )
  }

  const ask = (
    id: FirewallConfigId,
    question: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>,
    wanted: GuardState["kind"]
  ): Effect.Effect<FirewallRecord, FirewallConfigMissing | NothingPending | GuardUnavailable> =>
    configs.exclusively(Effect.gen(function*() {
      const standing = yield* configs.standing(id)
      if (standing.pending === null) return yield* new NothingPending({ restored: false })
      const state = yield* question(standing.pending.guard)
      yield* settle(standing, state, state.kind === wanted ? "request" : "guard")
      if (state.kind !== wanted) return yield* new NothingPending({ restored: state.kind !== "confirmed" })
      return yield* configs.get(id)
    })).pipe(Effect.uninterruptible)

  return {
    settle,
    decided,
    confirm: (id: FirewallConfigId) => ask(id, guards.confirm, "confirmed"),
    extend: (id: FirewallConfigId, seconds: number) => ask(id, (guard) => guards.extend(guard, seconds), "pending"),
    rollback: (id: FirewallConfigId) => ask(id, guards.rollback, "restored")
  }
}
