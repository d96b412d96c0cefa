import { DateTime, Effect, Either, Fiber } from "effect"
import type { FirewallConfigId } from "../../schema/FirewallConfig.ts"
import {
  ApplyPending,
  type ApplyRequest,
  RulesetRejected,
  TableForeign,
  type Unreachable,
  VersionConflict
} from "../Firewall.ts"
import {
  type Applied,
  FirewallConfigMissing,
  type FirewallConfigs,
  type FirewallStanding,
  ownedBy,
  TableOwned
} from "../FirewallConfigs.ts"
import type { FirewallGuard } from "../FirewallGuard.ts"
import type { Nft } from "../Nft.ts"
import { type Json, tablesOf } from "./commands.ts"
import type { makeEnforcement } from "./enforcement.ts"
import { accepted, comparable, differenceFrom, located } from "./judge.ts"
import type { makePendings } from "./pendings.ts"
import { asCommands, refusals } from "./policy.ts"
import type { makeRecovery } from "./recovery.ts"
import { type Replacement, replacement, restoration } from "./replacement.ts"

const unfaithful = new RulesetRejected({
  errors: [{
    source: "nft",
    pointer: "",
    message: "The kernel listed something else than was sent to it; what ran before is back"
  }]
})

/** Replaces the tables of a configuration in the kernel, and takes down what it is about to do and what it did. */
export const makeApply = ({ configs, confirmSeconds, enforcement, guards, nft, pendings, recovery }: {
  readonly configs: FirewallConfigs["Type"]
  readonly guards: FirewallGuard["Type"]
  readonly nft: Nft["Type"]
  readonly enforcement: ReturnType<typeof makeEnforcement>
  readonly pendings: ReturnType<typeof makePendings>
  readonly recovery: ReturnType<typeof makeRecovery>
  readonly confirmSeconds: number
}) => {
  const refuseOwned = (id: FirewallConfigId, tables: ReadonlyArray<string>) =>
    Effect.flatMap(configs.standings, (standings) => {
      for (const other of standings) {
        const owned = ownedBy(other)
        const table = tables.find((name) => other.id !== id && owned.includes(name))
        if (table !== undefined) return Effect.fail(new TableOwned({ table, owner: other.id }))
      }
      return Effect.void
    })

  /** Arms a guard that would bring back what runs now of these tables. */
  const arm = (guard: string, commands: ReadonlyArray<Json>, tables: ReadonlyArray<string>, seconds: number) =>
    Effect.gen(function*() {
      const { anew, inPlace } = restoration(yield* nft.list, commands, tables)
      yield* nft.check(anew).pipe(Effect.catchTag("Nft/Rejected", ({ messages }) =>
        new RulesetRejected({
          errors: [{
            source: "nft",
            pointer: "",
            message: `What runs now could not be restored: ${messages.join("; ")}`
          }]
        })))
      return yield* guards.arm(guard, { restore: [inPlace, anew], seconds })
    })

  /** Sends the transaction, with the tables made anew where nft doesn't take it otherwise. */
  const send = (
    plan: Replacement,
    running: ReadonlyArray<unknown>,
    commands: ReadonlyArray<Json>,
    removed: ReadonlyArray<string>
  ) =>
    nft.apply(plan.commands).pipe(
      Effect.as(plan),
      Effect.catchTag("Nft/Rejected", () =>
        Effect.flatMap(accepted(nft, running, commands, removed), (verdict) =>
          Either.isRight(verdict)
            ? nft.apply(verdict.right.commands).pipe(
              Effect.as(verdict.right),
              Effect.catchTag(
                "Nft/Rejected",
                (rejection) =>
                  Effect.flatMap(located(nft, verdict.right, rejection), (errors) =>
                    new RulesetRejected({ errors }))
              )
            )
            : new RulesetRejected({ errors: verdict.left })))
    )

  const commit = Effect.fnUntraced(function*(
    standing: FirewallStanding,
    version: number,
    commands: ReadonlyArray<Json>,
    running: ReadonlyArray<unknown>,
    seconds: number
  ) {
    const { applied, id } = standing
    const tables = tablesOf(commands)
    const removed = applied.tables.filter((table) => !tables.includes(table))
    const guard = seconds > 0 ? yield* guards.name : null
    const state = { status: standing.status, applied, pending: null }
    const intent = { version, tables: [...new Set([...tables, ...removed])], guard }
    const settle = (next: Parameters<typeof configs.settle>[1]) => configs.settle(id, next)
    const giveUp = (status: "failed" | FirewallStanding["status"], restored = applied) =>
      Effect.zipRight(
        guard === null ? Effect.void : Effect.zipRight(Effect.ignore(guards.confirm(guard)), guards.release(guard)),
        settle({ ...state, applied: restored, status: standing.status === "active" ? "active" : status, intent: null })
      )
    yield* settle({ ...state, intent })
    const armed = guard === null ? null : yield* arm(guard, commands, intent.tables, seconds).pipe(
      Effect.tapError(() => giveUp(standing.status))
    )
    const sending = yield* send(replacement(running, commands, { removed }), running, commands, removed).pipe(
      Effect.tapErrorTag("Firewall/RulesetRejected", () => giveUp("failed")),
      Effect.fork
    )
    // The tool works while we compare.
    yield* Effect.yieldNow()
    const diff = differenceFrom(running, commands, removed)
    yield* Effect.flatMap(Fiber.join(sending), enforcement.tidy)
    const takeBack: Effect.Effect<Applied | null, Unreachable> = guard === null
      ? recovery.restore({ ...standing, intent }, applied)
      : Effect.as(guards.rollback(guard), applied)
    const baseline = yield* Effect.catchTag(enforcement.readBack(commands), "Nft/Unfaithful", () =>
      takeBack.pipe(
        Effect.flatMap((restored) => giveUp("failed", restored ?? applied)),
        Effect.zipRight(unfaithful)
      ))
    const next: Applied = { version, at: yield* DateTime.now, tables, baseline }
    const done = armed === null || guard === null
      ? { status: "active" as const, applied: next, intent: null, pending: null }
      : {
        status: "pending_confirmation" as const,
        applied: next,
        intent: null,
        pending: { guard, deadline: armed.deadline, previous: applied }
      }
    yield* settle(done)
    return { ...done, diff }
  })

  return (id: FirewallConfigId, request: ApplyRequest) =>
    configs.exclusively(Effect.gen(function*() {
      const [{ ruleset, ...config }, found] = yield* Effect.all([configs.get(id), configs.standing(id)], {
        concurrency: 2
      })
      if (config.is_deleted === 1) return yield* new FirewallConfigMissing({ id })
      const commands = asCommands(ruleset.nftables)
      const standing = yield* pendings.decided(found)
      const listing = yield* Effect.fork(comparable(nft, commands))
      if (standing.pending !== null) return yield* new ApplyPending({ deadline: standing.pending.deadline })
      if (request.expectedVersion !== undefined && request.expectedVersion !== config.version) {
        return yield* new VersionConflict({ version: config.version })
      }
      const errors = refusals(commands)
      if (errors.length > 0) return yield* new RulesetRejected({ errors })
      const own = standing.applied.tables
      yield* refuseOwned(id, config.tables)
      const running = yield* Fiber.join(listing)
      const foreign = tablesOf(running).filter((table) => config.tables.includes(table) && !own.includes(table))
      // What an apply left undone isn't foreign.
      const unfinished = standing.intent?.tables ?? []
      const strangers = foreign.filter((table) => !unfinished.includes(table))
      if (strangers.length > 0 && !request.adopt) return yield* new TableForeign({ tables: strangers })
      const done = yield* commit(standing, config.version, commands, running, request.confirmSeconds ?? confirmSeconds)
      yield* Effect.logInfo(`firewall: applied ${config.name} version ${config.version}`).pipe(
        Effect.annotateLogs({ config: id, comment: request.comment ?? "" })
      )
      return {
        config: {
          ...config,
          status: done.status,
          is_active: 1 as const,
          applied_version: config.version,
          applied_at: done.applied.at,
          confirm_deadline: done.pending?.deadline ?? null
        },
        revision: config.version,
        previousRevision: standing.applied.version,
        diff: done.diff
      }
    })).pipe(Effect.uninterruptible)
}
