import { DateTime, Effect, Either, Equal } from "effect"
import { type Applied, type FirewallConfigs, type FirewallStanding, notApplied, ownedBy } from "../FirewallConfigs.ts"
import type { Nft, NftUnavailable } from "../Nft.ts"
import { tablesOf } from "./commands.ts"
import type { makeEnforcement } from "./enforcement.ts"
import { accepted, comparable, differenceFrom } from "./judge.ts"
import { asCommands } from "./policy.ts"
import { replacement } from "./replacement.ts"

/** Makes the kernel what the store says, without a guard's help. */
export const makeRecovery = ({ configs, enforcement, nft }: {
  readonly configs: FirewallConfigs["Type"]
  readonly nft: Nft["Type"]
  readonly enforcement: ReturnType<typeof makeEnforcement>
}) => {
  /** Applies a saved version again, whatever of it is there; null where nft refuses it. */
  const carryOut = (standing: FirewallStanding, version: number): Effect.Effect<Applied | null, NftUnavailable> =>
    Effect.gen(function*() {
      const { ruleset } = yield* Effect.orDie(configs.revision(standing.id, version))
      const commands = asCommands(ruleset.nftables)
      const tables = tablesOf(commands)
      const left = ownedBy(standing).filter((name) => !tables.includes(name))
      const verdict = yield* accepted(nft, yield* nft.structure, commands, left)
      if (Either.isLeft(verdict)) {
        yield* Effect.logError(`firewall: ${standing.name} version ${version} can't be applied again`, verdict.left)
        return null
      }
      const plan = verdict.right
      yield* nft.apply(plan.commands)
      yield* enforcement.tidy(plan)
      return { version, tables, at: yield* DateTime.now, baseline: yield* enforcement.readBack(commands) }
    }).pipe(
      Effect.catchTags({
        "Nft/Rejected": ({ message }) =>
          Effect.as(
            Effect.logError(`firewall: ${standing.name} version ${version} can't be applied: ${message}`),
            null
          ),
        "Nft/Unfaithful": () => Effect.succeed(null)
      })
    )

  const clear = (standing: FirewallStanding): Effect.Effect<Applied | null, NftUnavailable> =>
    Effect.flatMap(
      nft.structure,
      (running) => nft.apply(replacement(running, [], { removed: ownedBy(standing) }).commands)
    ).pipe(
      Effect.as(notApplied),
      Effect.catchTag(
        "Nft/Rejected",
        ({ message }) =>
          Effect.as(Effect.logError(`firewall: the tables of ${standing.name} can't be removed: ${message}`), null)
      )
    )

  /** Whether the kernel has what was applied, and nothing more, of the configuration's tables. */
  const runs = (standing: FirewallStanding, applied: Applied) =>
    Effect.map(nft.list, (listed) => enforcement.drift(applied, listed, ownedBy(standing)).identical)

  /** Whether the kernel has what a saved version declares, elements aside where they are many. */
  const has = (standing: FirewallStanding, version: number) =>
    Effect.gen(function*() {
      const { ruleset } = yield* Effect.orDie(configs.revision(standing.id, version))
      const commands = asCommands(ruleset.nftables)
      return differenceFrom(yield* comparable(nft, commands), commands, []).identical
    })

  /** Brings back what was applied before, unless it runs already; null where that fails. */
  const restore = (standing: FirewallStanding, previous: Applied) =>
    Effect.gen(function*() {
      if (yield* runs(standing, previous)) return previous
      return yield* previous.version === null ? clear(standing) : carryOut(standing, previous.version)
    })

  /** Takes down the digests of the elements, for drift to show. Nothing where something else was applied meanwhile. */
  const verify = (standing: FirewallStanding) =>
    Effect.gen(function*() {
      const { applied, id, name } = standing
      if (applied.version === null) return
      const { ruleset } = yield* Effect.orDie(configs.revision(id, applied.version))
      const verified = yield* enforcement.verified(applied, asCommands(ruleset.nftables))
      yield* configs.exclusively(Effect.gen(function*() {
        const now = yield* Effect.orDie(configs.standing(id))
        if (now.status !== "active" || now.intent !== null || !Equal.equals(now.applied.at, applied.at)) return
        yield* Effect.orDie(configs.settle(id, { ...now, applied: verified.applied }))
        if (!verified.isFaithful) yield* Effect.logError(`firewall: sets of ${name} lack what was applied or have more`)
      }))
    })

  return { carryOut, has, restore, runs, verify }
}
