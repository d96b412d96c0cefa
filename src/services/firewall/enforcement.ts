import { Data, DateTime, Effect } from "effect"
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { FirewallDiff } from "../../schema/FirewallConfig.ts"
import type { Applied } from "../FirewallConfigs.ts"
import type { Nft } from "../Nft.ts"
import { declarations, isJson, type Json, tableOf, tablesOf } from "./commands.ts"
import { difference, sameStructure } from "./difference.ts"
import { comparedElementsMax, elementCount } from "./judge.ts"
import { elementText, normalTables } from "./normal.ts"
import { bridgeRemovals, isBridgeRule, redeclarable, type Replacement } from "./replacement.ts"

/** The kernel lists something else than was committed to it. */
export class Unfaithful extends Data.TaggedError("Nft/Unfaithful")<{}> {}

/** By `family table set`: a digest over the elements, whatever their order. */
type Digests = Readonly<Record<string, string>>

/** Stands first in a baseline whose sets were listed without their elements; `digests` once these were compared. */
interface Terse {
  readonly terse: true
  readonly digests?: Digests
}

const terseOf = ([first]: ReadonlyArray<unknown>): Terse | undefined =>
  isJson(first) && isJson(first["metainfo"]) && first["metainfo"]["terse"] === true
    ? first["metainfo"] as unknown as Terse
    : undefined

/** How long something is left in peace after it was applied with many elements, in seconds. */
const rest = 3

const elementsWithin = (commands: ReadonlyArray<unknown>) => elementCount(commands) <= comparedElementsMax

const ofTables = (listed: ReadonlyArray<unknown>, tables: ReadonlyArray<string>) =>
  listed.filter((object) => declarations([object]).some((declared) => tables.includes(tableOf(declared))))

const digestsOf = (listed: ReadonlyArray<unknown>, tables: ReadonlyArray<string>): Digests => {
  const digests: Record<string, string> = {}
  for (const [table, { elements }] of normalTables(ofTables(listed, tables))) {
    for (const [set, all] of elements) {
      const hash = createHash("sha256")
      const texts = [...new Set(all.map(elementText))].sort()
      digests[`${table} ${set}`] = `${texts.length} ${hash.update(texts.join("\n")).digest("base64")}`
    }
  }
  return digests
}

/** What follows a committed replacement. */
export const makeEnforcement = (nft: Nft["Type"]) => {
  /** Whether `listed` is what nft makes of the commands, however it writes it. */
  const isFaithful = (commands: ReadonlyArray<Json>, listed: ReadonlyArray<unknown>) =>
    Effect.gen(function*() {
      const tables = tablesOf(commands)
      if (difference(commands, listed, tables).identical) return true
      const rehearsed = yield* nft.rehearse(commands)
      return difference(rehearsed, listed, tables).identical
    }).pipe(
      // What can't be rehearsed, such as rules on interfaces that are here alone, is compared as far as it is certain.
      Effect.catchTag("Nft/Rejected", () => Effect.succeed(sameStructure(commands, listed)))
    )

  return {
    /** Takes the bridging rules away, now that the policies hold. They say no more than the policy: failing is no harm. */
    tidy: (plan: Replacement) =>
      plan.bridged.length === 0 ? Effect.void : nft.structure.pipe(
        Effect.flatMap((running) => nft.apply(bridgeRemovals(running))),
        Effect.catchTag(
          "Nft/Rejected",
          ({ message }) => Effect.logWarning(`firewall: a bridging rule stays: ${message}`)
        )
      ),

    /** What the kernel has of the commands' tables, without elements where they are many. */
    readBack: (commands: ReadonlyArray<Json>) =>
      Effect.gen(function*() {
        const tables = tablesOf(commands)
        const few = elementsWithin(commands)
        const listed = (yield* few ? nft.list : nft.structure).filter((object) => !isBridgeRule(object))
        if (!(few ? yield* isFaithful(commands, listed) : sameStructure(commands, listed))) {
          yield* Effect.logError("firewall: the kernel lists something else than was sent", { tables })
          return yield* new Unfaithful()
        }
        const own = ofTables(listed, tables).map(redeclarable)
        return few ? own : [{ metainfo: { terse: true } satisfies Terse }, ...own]
      }),

    /** Whether the elements of what was applied are still to be compared. */
    isUnverified: ({ at, baseline }: Applied) =>
      Effect.map(DateTime.now, (now) => {
        const terse = terseOf(baseline)
        return terse !== undefined && terse.digests === undefined && at !== null &&
          DateTime.lessThan(DateTime.add(at, { seconds: rest }), now)
      }),

    /** What was applied, with the digests of the elements that it should have; whether the kernel has them. */
    verified: (applied: Applied, commands: ReadonlyArray<Json>) =>
      Effect.gen(function*() {
        const found = digestsOf(yield* nft.list, applied.tables)
        const isEqual = isDeepStrictEqual(found, digestsOf(commands, applied.tables))
        const wanted = isEqual ? found : yield* nft.rehearse(commands).pipe(
          Effect.map((rehearsed) => digestsOf(rehearsed, applied.tables)),
          Effect.catchTag("Nft/Rejected", () => Effect.succeed(found))
        )
        const [, ...own] = applied.baseline
        const baseline = [{ metainfo: { terse: true, digests: wanted } satisfies Terse }, ...own]
        return { applied: { ...applied, baseline }, isFaithful: isDeepStrictEqual(found, wanted) }
      }),

    /** What makes these tables differ in the kernel from what was applied. */
    drift: (
      { baseline }: Applied,
      listed: ReadonlyArray<unknown>,
      tables: ReadonlyArray<string>
    ): FirewallDiff => {
      const terse = terseOf(baseline)
      const diff = difference(baseline, listed, tables, terse === undefined)
      if (terse?.digests === undefined) return diff
      const found = digestsOf(listed, tables)
      const changes = Object.entries(terse.digests).filter(([set, digest]) => found[set] !== digest).map(([path]) => {
        const [family, name, set] = path.split(" ")
        return { op: "change" as const, table: `${family} ${name}`, path: `elements ${set}` }
      })
      return {
        ...diff,
        identical: diff.identical && changes.length === 0,
        changed: diff.changed + changes.length,
        changes: [...diff.changes, ...changes]
      }
    }
  }
}
