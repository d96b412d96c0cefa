import { DateTime, Effect } from "effect"
import type { FirewallConfigId } from "../../schema/FirewallConfig.ts"
import { NothingPending } from "../Firewall.ts"
import type { FirewallConfigMissing, FirewallConfigs, FirewallRecord, FirewallStanding } from "../FirewallConfigs.ts"
import type { FirewallGuard, GuardState, GuardUnavailable } from "../FirewallGuard.ts"
import type { NftUnavailable } from "../Nft.ts"
import type { Act } from "../recordAct.ts"
import type { makeRecovery } from "./recovery.ts"

type Unreachable = GuardUnavailable | NftUnavailable
type Pending = NonNullable<FirewallStanding["pending"]>

/** By whose decision an apply came to its end: what users ask for is recorded where they ask. */
type Decider = "guard" | "request"

/** How long after its deadline a guard that can't be reached from here is given up, in seconds. */
const patience = 60

/** Takes down what a guard decided, and asks it to decide; decides itself in the place of a guard that can't. */
export const makePendings = ({ configs, guards, recovery, told }: {
  readonly configs: FirewallConfigs["Type"]
  readonly guards: FirewallGuard["Type"]
  readonly recovery: ReturnType<typeof makeRecovery>
  readonly told: (act: Act) => Effect.Effect<void>
}) => {
  const conclude = (
    standing: FirewallStanding,
    pending: Pending,
    outcome: "confirmed" | "restored" | "failed",
    by: Decider,
    applied = outcome === "restored" ? pending.previous : standing.applied
  ) =>
    Effect.gen(function*() {
      const { id, name } = standing
      const status = outcome === "failed"
        ? "failed" as const
        : applied.version === null
        ? "inactive" as const
        : "active" as const
      const next = { ...standing, status, applied, pending: null }
      yield* Effect.orDie(configs.settle(id, next))
      if (by === "guard") {
        yield* told({
          by: "system:guard",
          operation: `firewall.${outcome}`,
          target: id,
          before: { version: standing.applied.version, tables: standing.applied.tables },
          after: { status, version: applied.version, tables: applied.tables }
        })
      }
      yield* guards.release(pending.guard)
      yield* Effect.logInfo(`firewall: ${name} ${outcome}`).pipe(Effect.annotateLogs({ config: id }))
      return next
    })

  /** In the place of a guard that is gone or gave up: what ran before comes back, or it is said that it can't. */
  const restore = (standing: FirewallStanding, pending: Pending, by: Decider) =>
    Effect.gen(function*() {
      yield* Effect.logWarning(`firewall: the guard of ${standing.name} is gone, this service restores in its place`)
      const restored = yield* recovery.restore(standing, pending.previous)
      return restored === null
        ? yield* conclude(standing, pending, "failed", by)
        : yield* conclude(standing, pending, "restored", by, restored)
    })

  const postpone = (standing: FirewallStanding, pending: Pending, deadline: DateTime.Utc) =>
    Effect.gen(function*() {
      const next = { ...standing, pending: { ...pending, deadline } }
      yield* Effect.orDie(configs.settle(standing.id, next))
      return next
    })

  const isOver = ({ deadline }: Pending, seconds = 0) =>
    Effect.map(DateTime.now, (now) => DateTime.lessThanOrEqualTo(DateTime.add(deadline, { seconds }), now))

  /** What the guard says; one that was out of reach for too long after its deadline counts as lost. */
  const reach = (pending: Pending, answer: Effect.Effect<GuardState, GuardUnavailable>) =>
    Effect.catchAll(
      answer,
      (error) =>
        Effect.flatMap(isOver(pending, patience), (over) => over ? Effect.succeed({ kind: "lost" } as const) : error)
    )

  /** Takes down what the guard says. */
  const settle = (
    standing: FirewallStanding,
    pending: Pending,
    state: GuardState,
    by: Decider
  ): Effect.Effect<FirewallStanding, NftUnavailable> => {
    switch (state.kind) {
      case "restoring":
        return Effect.succeed(standing)
      case "pending":
        return postpone(standing, pending, state.deadline)
      case "confirmed":
      case "restored":
        return conclude(standing, pending, state.kind, by)
      case "failed":
        return restore(standing, pending, by)
      case "lost":
        return Effect.flatMap(
          isOver(pending),
          (over) => over ? restore(standing, pending, by) : Effect.succeed(standing)
        )
    }
  }

  /** The standing once what its guard decided meanwhile is taken down; a guard that is overdue is looked after. */
  const decided = (standing: FirewallStanding, revive = false): Effect.Effect<FirewallStanding, Unreachable> =>
    Effect.gen(function*() {
      const { pending } = standing
      if (pending === null) return standing
      const overdue = revive || (yield* isOver(pending, 2))
      const state = yield* reach(pending, overdue ? guards.revive(pending.guard) : guards.state(pending.guard))
      return state.kind === "pending" ? standing : yield* settle(standing, pending, state, "guard")
    })

  const ask = (
    id: FirewallConfigId,
    question: (guard: string) => Effect.Effect<GuardState, GuardUnavailable>,
    asked: GuardState["kind"],
    wanted: (before: FirewallStanding, next: FirewallStanding) => boolean,
    instead: (standing: FirewallStanding, pending: Pending) => Effect.Effect<FirewallStanding, NftUnavailable>
  ): Effect.Effect<FirewallRecord, FirewallConfigMissing | NothingPending | Unreachable> =>
    configs.exclusively(Effect.gen(function*() {
      const standing = yield* configs.standing(id)
      const { pending } = standing
      if (pending === null) return yield* new NothingPending({ restored: false })
      const state = yield* reach(pending, question(pending.guard))
      const isLost = state.kind === "lost" && !(yield* isOver(pending))
      const next = yield* isLost ?
        instead(standing, pending)
        : settle(standing, pending, state, state.kind === asked ? "request" : "guard")
      if (!wanted(standing, next)) return yield* new NothingPending({ restored: isRestored(standing, next) })
      return yield* configs.get(id)
    })).pipe(Effect.uninterruptible)

  const isKept = (before: FirewallStanding, next: FirewallStanding) =>
    next.pending === null && next.applied === before.applied && next.status === "active"
  const isRestored = (before: FirewallStanding, next: FirewallStanding) => next.applied !== before.applied

  return {
    decided,
    confirm: (id: FirewallConfigId) =>
      ask(
        id,
        guards.confirm,
        "confirmed",
        isKept,
        (standing, pending) =>
          Effect.flatMap(
            recovery.runs(standing, standing.applied),
            (runs) => runs ? conclude(standing, pending, "confirmed", "request") : restore(standing, pending, "request")
          )
      ),
    extend: (id: FirewallConfigId, seconds: number) =>
      ask(
        id,
        (guard) => guards.extend(guard, seconds),
        "pending",
        (_, next) => next.pending !== null,
        (standing, pending) =>
          Effect.flatMap(DateTime.now, (now) => postpone(standing, pending, DateTime.add(now, { seconds })))
      ),
    rollback: (id: FirewallConfigId) =>
      ask(id, guards.rollback, "restored", isRestored, (standing, pending) => restore(standing, pending, "request"))
  }
}
