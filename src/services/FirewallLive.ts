import { Config, DateTime, Effect, Layer } from "effect"
import { type FirewallConfigId, FirewallConfigId as Id, type FirewallDraft } from "../schema/FirewallConfig.ts"
import type { UserId } from "../schema/User.ts"
import type { AuditTrail } from "./AuditTrail.ts"
import { ApplyPending, Firewall, RulesetRejected } from "./Firewall.ts"
import { makeApply } from "./firewall/apply.ts"
import { checksumOf } from "./firewall/checksum.ts"
import { tablesOf } from "./firewall/commands.ts"
import { makeEnforcement } from "./firewall/enforcement.ts"
import { comparable, differenceFrom, makeJudge } from "./firewall/judge.ts"
import { makePendings } from "./firewall/pendings.ts"
import { asCommands, refusals, unspeakable } from "./firewall/policy.ts"
import { makeReconcile } from "./firewall/reconcile.ts"
import { makeRecovery } from "./firewall/recovery.ts"
import { replacement } from "./firewall/replacement.ts"
import { FirewallConfigMissing, FirewallConfigs, notApplied, ownedBy } from "./FirewallConfigs.ts"
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
  const recovery = makeRecovery({ configs, enforcement, nft })
  const context = yield* Effect.context<AuditTrail | Ids>()
  const told = (act: Act) => Effect.provide(recordAct(act), context)
  const pendings = makePendings({ configs, guards, recovery, told })

  const apply = makeApply({ configs, confirmSeconds, enforcement, guards, nft, pendings, recovery })

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

  const owned = Effect.map(configs.standings, (standings) => new Set(standings.flatMap(ownedBy)))

  const judge = makeJudge(nft, { port, owned })

  const running = Effect.gen(function*() {
    const [listed, standings] = yield* Effect.all([nft.list, configs.standings])
    const owned = new Set(standings.flatMap(({ applied }) => applied.tables))
    return {
      nftables: listed,
      drift: standings.map(({ applied, id, name }) => ({
        id,
        name,
        tables: applied.tables,
        diff: enforcement.drift(applied, listed, applied.tables)
      })),
      foreign: tablesOf(listed).filter((table) => !owned.has(table))
    }
  })

  return Firewall.of({
    validate: ({ nftables }, caller) => judge(nftables, caller),
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
      const errors = unspeakable(ruleset.nftables)
      if (errors.length > 0) return yield* new RulesetRejected({ errors })
      return yield* nft.render(asCommands(ruleset.nftables)).pipe(
        Effect.catchTag(
          "Nft/Rejected",
          ({ message }) => new RulesetRejected({ errors: [{ source: "nft", pointer: "", message }] })
        )
      )
    }),
    // What is listed while it changes is anything: drift is looked at twice, the second time while nothing is applied.
    running: Effect.filterOrElse(
      running,
      ({ drift }) => drift.every(({ diff }) => diff.identical),
      () => configs.exclusively(running)
    ),
    verify: Effect.gen(function*() {
      for (const standing of yield* configs.standings) {
        if (standing.status === "active" && (yield* enforcement.isUnverified(standing.applied))) {
          yield* recovery.verify(standing)
        }
      }
    }),
    reconcile: makeReconcile({ configs, guards, nft, pendings, recovery, told })
  })
})

/** `NETOPS_NFT_CONFIRM_SECONDS` (0: apply plainly) holds where an apply doesn't say how long it waits. */
export const FirewallLive = Layer.effect(Firewall, make)
