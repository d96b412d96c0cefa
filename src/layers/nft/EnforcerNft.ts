import { Config, ConfigError, DateTime, Effect, Either, Layer } from "effect"
import { parseCidr } from "../../schema/Ip.ts"
import type { NftCommandObject } from "../../schema/Nftables.ts"
import { DesiredMacs, type DueKind } from "../../services/DesiredMacs.ts"
import {
  changed,
  difference,
  elementCommands,
  type EnforcedMacs,
  isNothing,
  listedMacs
} from "../../services/enforcedElements.ts"
import { EnforcementFailed, Enforcer } from "../../services/Enforcer.ts"
import { type EnforceFamily, frameCommands, frameText, replaceCommands } from "../../services/enforceTable.ts"
import { Nft, type NftRejected, type NftUnavailable } from "../../services/Nft.ts"

const networks = Config.string("NETOPS_QUARANTINE_ALLOW").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const words = text.split(/[\s,]+/).filter((word) => word !== "")
    const wrong = words.filter((word) => parseCidr(word) === undefined)
    return wrong.length > 0
      ? Either.left(ConfigError.InvalidData(["NETOPS_QUARANTINE_ALLOW"], `${wrong.join(", ")}: no address or network`))
      : Either.right(words.map((word) => parseCidr(word)!.text.replace(/\/(?:32|128)$/, "")))
  })
)

const settings = Config.all({
  allow: networks,
  bridges: Config.boolean("NETOPS_NFT_BRIDGE").pipe(Config.withDefault(false))
})

/** What a table is known to hold. */
interface Known {
  readonly macs: EnforcedMacs
  readonly frame: string
}

const failed = ({ message }: NftRejected | NftUnavailable) => new EnforcementFailed({ message })

/** How many due actions one pass of its own accord marks. */
const dueMax = 10_000

/**
 * Keeps the tables `netops_enforce` equal to the actions in force, and what it put there in memory, so that a pass
 * sends what changed and nothing else. With `NETOPS_NFT_BRIDGE=1` also in the bridge family; `NETOPS_QUARANTINE_ALLOW`
 * are networks that clients in quarantine reach.
 */
export const EnforcerNft = Layer.effect(
  Enforcer,
  Effect.gen(function*() {
    const nft = yield* Nft
    const store = yield* DesiredMacs
    const { allow, bridges } = yield* settings
    const families: ReadonlyArray<EnforceFamily> = bridges ? ["inet", "bridge"] : ["inet"]
    const known = new Map<EnforceFamily, Known>()
    const one = yield* Effect.makeSemaphore(1)

    const apply = (commands: ReadonlyArray<NftCommandObject>) =>
      nft.apply(commands).pipe(
        Effect.tapError(() => Effect.sync(() => known.clear())),
        Effect.mapError(failed)
      )

    /** One transaction for all tables; a frame that is not as we left it is made anew with its sets kept. */
    const repair = Effect.fnUntraced(function*(desired: EnforcedMacs) {
      const listed = yield* Effect.mapError(nft.list, failed)
      const nowMs = DateTime.toEpochMillis(yield* DateTime.now)
      const plans = families.map((family) => {
        const macs = listedMacs(listed, family, nowMs)
        const change = difference(macs, desired, nowMs)
        const frame = frameText(listed, family)
        const stands = frame !== "" && known.get(family)?.frame === frame
        return { family, macs, change, frame: stands ? frame : undefined }
      })
      const commands = (plan: (typeof plans)[number]) => [
        ...(plan.frame === undefined ? frameCommands(plan.family, allow) : []),
        ...elementCommands(plan.family, plan.change, nowMs)
      ]
      const none: EnforcedMacs = { blocked_macs: new Map(), quarantined_macs: new Map() }
      yield* nft.apply(plans.flatMap(commands)).pipe(
        Effect.catchTag("Nft/Rejected", () =>
          nft.apply(plans.flatMap(({ family }) => [
            ...replaceCommands(family),
            ...frameCommands(family, allow),
            ...elementCommands(family, difference(none, desired, nowMs), nowMs)
          ]))),
        Effect.tapError(() => Effect.sync(() => known.clear())),
        Effect.mapError(failed)
      )
      const framed = plans.every(({ frame }) => frame !== undefined)
      const after = framed ? listed : yield* Effect.mapError(nft.list, failed)
      for (const { change, family, macs } of plans) {
        known.set(family, {
          macs: framed ? changed(macs, change) : listedMacs(after, family, nowMs),
          frame: frameText(after, family)
        })
      }
    })

    const send = Effect.fnUntraced(function*(desired: EnforcedMacs, macs: ReadonlySet<string>) {
      const nowMs = DateTime.toEpochMillis(yield* DateTime.now)
      const plans = families.map((family) => {
        const { frame, macs: applied } = known.get(family)!
        return { family, frame, applied, change: difference(applied, desired, nowMs, macs) }
      }).filter(({ change }) => !isNothing(change))
      yield* apply(plans.flatMap(({ change, family }) => elementCommands(family, change, nowMs)))
      for (const { applied, change, family, frame } of plans) {
        known.set(family, { macs: changed(applied, change), frame })
      }
    })

    const bring = Effect.fn("Enforcer.bring")(function*(due: DueKind, limit: number, all: boolean) {
      const at = yield* DateTime.now
      const [expired, behind] = yield* Effect.all(
        [limit === 0 ? Effect.succeed([]) : store.due(at, due, limit), store.behind],
        { concurrency: 2 }
      )
      const macs = new Set([...expired.map(({ client_mac }) => client_mac), ...behind.macs])
      if (all || families.some((family) => !known.has(family))) yield* repair(yield* store.desired(at))
      else if (macs.size > 0) {
        yield* send(yield* store.desired(at, [...macs]), macs).pipe(
          // What another process did to the table shows in a refusal: look again and repair.
          Effect.catchAll(() => Effect.flatMap(store.desired(at), repair))
        )
      }
      if (behind.change > 0) yield* store.markSynced(behind.change, at, families)
      return expired.length === 0 ? 0 : yield* store.markExpired(expired, at)
    })

    return Enforcer.of({
      pass: Effect.asVoid(bring("allow", dueMax, false)).pipe(one.withPermits(1)),
      verify: Effect.asVoid(bring("any", dueMax, true)).pipe(one.withPermits(1)),
      cleanup: ({ dryRun, limit }) =>
        dryRun
          ? Effect.map(
            Effect.flatMap(DateTime.now, (at) => store.due(at, "any", limit)),
            (rows) => rows.length
          )
          : bring("any", limit, false).pipe(one.withPermits(1))
    })
  })
)
