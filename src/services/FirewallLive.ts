import { Config, DateTime, Effect, Either, Layer } from "effect"
import { type FirewallConfigId, FirewallConfigId as Id, type FirewallDraft } from "../schema/FirewallConfig.ts"
import type { UserId } from "../schema/User.ts"
import type { AuditTrail } from "./AuditTrail.ts"
import {
  ApplyPending,
  type ApplyRequest,
  Firewall,
  RulesetRejected,
  TableForeign,
  VersionConflict
} from "./Firewall.ts"
import { checksumOf } from "./firewall/checksum.ts"
import { tablesOf } from "./firewall/commands.ts"
import { difference } from "./firewall/difference.ts"
import { makeEnforcement } from "./firewall/enforcement.ts"
import { accepted, comparable, differenceFrom, judge, located } from "./firewall/judge.ts"
import { makePendings } from "./firewall/pendings.ts"
import { asCommands, refusals } from "./firewall/policy.ts"
import { makeReconcile } from "./firewall/reconcile.ts"
import { replacement, restoration } from "./firewall/replacement.ts"
import {
  type Applied,
  FirewallConfigMissing,
  FirewallConfigs,
  type FirewallStanding,
  notApplied,
  ownedBy,
  TableOwned
} from "./FirewallConfigs.ts"
import { FirewallGuard } from "./FirewallGuard.ts"
import { Ids } from "./Ids.ts"
import { Nft } from "./Nft.ts"
import { type Act, recordAct } from "./recordAct.ts"
import { type Expected, isExpected, RevisionMismatch } from "./Revision.ts"

const settings = Config.all({
  port: Config.port("PORT").pipe(Config.withDefault(8080)),
  confirmSeconds: Config.integer("NETOPS_NFT_CONFIRM_SECONDS").pipe(
    Config.withDefault(0),
    Config.validate({
      message: "NETOPS_NFT_CONFIRM_SECONDS must be 0 (apply plainly) to 86400",
      validation: (seconds) => seconds >= 0 && seconds <= 86_400
    })
  )
})

const make = Effect.gen(function*() {
  const configs = yield* FirewallConfigs
  const guards = yield* FirewallGuard
  const nft = yield* Nft
  const ids = yield* Ids
  const { confirmSeconds, port } = yield* settings
  const enforcement = makeEnforcement(nft)
  const context = yield* Effect.context<AuditTrail | Ids>()
  const told = (act: Act) => Effect.provide(recordAct(act), context)
  const pendings = makePendings(configs, guards, told)

  const versionOf = (draft: FirewallDraft, by: UserId) =>
    Effect.gen(function*() {
      const errors = refusals(draft.ruleset.nftables)
      if (errors.length > 0) return yield* new RulesetRejected({ errors })
      const checksum = checksumOf(draft.ruleset)
      return { draft, checksum, tables: tablesOf(draft.ruleset.nftables), by, at: yield* DateTime.now }
    })

  const living = (id: FirewallConfigId) =>
    configs.get(id).pipe(
      Effect.filterOrFail((config) => config.is_deleted === 0, () => new FirewallConfigMissing({ id }))
    )

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
  const arm = (
    guard: string,
    commands: ReturnType<typeof asCommands>,
    tables: ReadonlyArray<string>,
    seconds: number
  ) =>
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

  const commit = Effect.fnUntraced(function*(
    standing: FirewallStanding,
    version: number,
    commands: ReturnType<typeof asCommands>,
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
    const giveUp = (status: "failed" | FirewallStanding["status"]) =>
      Effect.zipRight(
        guard === null ? Effect.void : Effect.zipRight(Effect.ignore(guards.confirm(guard)), guards.release(guard)),
        settle({ ...state, status: standing.status === "active" ? "active" : status, intent: null })
      )
    yield* settle({ ...state, intent })
    const armed = guard === null ? null : yield* arm(guard, commands, intent.tables, seconds).pipe(
      Effect.tapError(() => giveUp(standing.status))
    )
    const plan = replacement(running, commands, { removed })
    yield* nft.apply(plan.commands).pipe(
      Effect.as(plan),
      Effect.catchTag(
        "Nft/Rejected",
        () =>
          Effect.flatMap(accepted(nft, running, commands, removed), (verdict) =>
            Either.isRight(verdict)
              ? nft.apply(verdict.right.commands).pipe(
                Effect.as(verdict.right),
                Effect.catchTag(
                  "Nft/Rejected",
                  (rejection) =>
                    Effect.flatMap(located(nft, verdict.right, rejection), (errors) => new RulesetRejected({ errors }))
                )
              )
              : new RulesetRejected({ errors: verdict.left }))
      ),
      Effect.tapErrorTag("Firewall/RulesetRejected", () => giveUp("failed")),
      Effect.tap(enforcement.tidy)
    )
    const baseline = yield* enforcement.readBack(commands)
    const next: Applied = { version, at: yield* DateTime.now, tables, baseline }
    yield* settle(
      armed === null || guard === null
        ? { status: "active", applied: next, intent: null, pending: null }
        : {
          status: "pending_confirmation",
          applied: next,
          intent: null,
          pending: { guard, deadline: armed.deadline, previous: applied }
        }
    )
  })

  const apply = (id: FirewallConfigId, request: ApplyRequest) =>
    configs.exclusively(Effect.gen(function*() {
      const config = yield* living(id)
      const standing = yield* Effect.flatMap(configs.standing(id), pendings.decided)
      if (standing.pending !== null) return yield* new ApplyPending({ deadline: standing.pending.deadline })
      if (request.expectedVersion !== undefined && request.expectedVersion !== config.version) {
        return yield* new VersionConflict({ version: config.version })
      }
      const errors = refusals(config.ruleset.nftables)
      if (errors.length > 0) return yield* new RulesetRejected({ errors })
      const commands = asCommands(config.ruleset.nftables)
      const own = standing.applied.tables
      yield* refuseOwned(id, config.tables)
      const running = yield* comparable(nft, commands)
      const foreign = tablesOf(running).filter((table) => config.tables.includes(table) && !own.includes(table))
      // What an apply left undone isn't foreign.
      const unfinished = standing.intent?.tables ?? []
      const strangers = foreign.filter((table) => !unfinished.includes(table))
      if (strangers.length > 0 && !request.adopt) return yield* new TableForeign({ tables: strangers })
      const removed = own.filter((table) => !config.tables.includes(table))
      const diff = differenceFrom(running, commands, removed)
      yield* commit(standing, config.version, commands, running, request.confirmSeconds ?? confirmSeconds)
      yield* Effect.logInfo(`firewall: applied ${config.name} version ${config.version}`).pipe(
        Effect.annotateLogs({ config: id, comment: request.comment ?? "" })
      )
      return {
        config: yield* configs.get(id),
        revision: config.version,
        previousRevision: standing.applied.version,
        diff
      }
    })).pipe(Effect.uninterruptible)

  const remove = (id: FirewallConfigId, expected?: Expected) =>
    configs.exclusively(Effect.gen(function*() {
      const { edition } = yield* living(id)
      if (!isExpected(expected, edition)) return yield* new RevisionMismatch({ revision: edition })
      const standing = yield* Effect.flatMap(configs.standing(id), pendings.decided)
      if (standing.pending !== null) return yield* new ApplyPending({ deadline: standing.pending.deadline })
      const tables = [...new Set([...standing.applied.tables, ...standing.intent?.tables ?? []])]
      const deactivated = standing.status === "active"
      if (tables.length > 0) {
        const running = yield* nft.structure
        yield* Effect.catchTag(
          nft.apply(replacement(running, [], { removed: tables }).commands),
          "Nft/Rejected",
          Effect.die
        )
      }
      if (deactivated || tables.length > 0) {
        const gone = { status: "inactive", applied: notApplied, intent: null, pending: null } as const
        yield* Effect.orDie(configs.settle(id, gone))
      }
      yield* configs.setDeleted(id, true)
      return { deactivated }
    })).pipe(Effect.uninterruptible)

  return Firewall.of({
    validate: (ruleset) => judge(nft, ruleset.nftables, { port }),
    create: Effect.fn("Firewall.create")(function*(draft, by) {
      return yield* configs.create(Id.make(yield* ids.uuid), yield* versionOf(draft, by))
    }),
    update: Effect.fn("Firewall.update")(function*(id, draft, by, expected) {
      return yield* configs.update(id, yield* versionOf(draft, by), expected)
    }),
    apply,
    confirm: (id) => pendings.confirm(id),
    extend: (id, seconds) => pendings.extend(id, seconds),
    rollback: (id) => pendings.rollback(id),
    remove,
    diff: Effect.fn("Firewall.diff")(function*(id) {
      const config = yield* configs.get(id)
      const { applied } = yield* configs.standing(id)
      const removed = applied.tables.filter((table) => !config.tables.includes(table))
      const { nftables } = config.ruleset
      return differenceFrom(yield* comparable(nft, nftables), nftables, removed)
    }),
    exported: Effect.fn("Firewall.exported")(function*(id) {
      const { ruleset } = yield* configs.get(id)
      return yield* nft.render(asCommands(ruleset.nftables)).pipe(
        Effect.catchTag(
          "Nft/Rejected",
          ({ message }) => new RulesetRejected({ errors: [{ source: "nft", pointer: "", message }] })
        )
      )
    }),
    running: Effect.gen(function*() {
      const [listed, standings] = yield* Effect.all([nft.list, configs.standings])
      const owned = new Set(standings.flatMap(({ applied }) => applied.tables))
      return {
        nftables: listed,
        drift: standings.map(({ applied, id, name }) => ({
          id,
          name,
          tables: applied.tables,
          diff: difference(applied.baseline, listed, applied.tables, enforcement.hasElements(applied.baseline))
        })),
        foreign: tablesOf(listed).filter((table) => !owned.has(table))
      }
    }),
    reconcile: makeReconcile({ configs, guards, nft, enforcement, pendings, told })
  })
})

/** `NETOPS_NFT_CONFIRM_SECONDS` (0: apply plainly) holds where an apply doesn't say how long it waits. */
export const FirewallLive = Layer.effect(Firewall, make)
