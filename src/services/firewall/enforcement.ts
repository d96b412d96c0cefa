import { Effect } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { Nft } from "../Nft.ts"
import { declarations, type Json, tableOf, tablesOf } from "./commands.ts"
import { sameStructure } from "./difference.ts"
import { comparedElementsMax, elementCount } from "./judge.ts"
import { bridgeRemovals, redeclarable, type Replacement } from "./replacement.ts"

const elementsWithin = (commands: ReadonlyArray<unknown>) => elementCount(commands) <= comparedElementsMax

/** Stands first in a baseline whose sets were listed without their elements. */
const withoutElements = { metainfo: { terse: true } }

/** What follows a committed replacement. */
export const makeEnforcement = (nft: Nft["Type"]) => ({
  /** Takes the bridging rules away, now that the policies hold. They say no more than the policy: failing is no harm. */
  tidy: (plan: Replacement) =>
    plan.bridged.length === 0 ? Effect.void : nft.structure.pipe(
      Effect.flatMap((running) => nft.apply(bridgeRemovals(running))),
      Effect.catchTag("Nft/Rejected", ({ message }) => Effect.logWarning(`firewall: a bridging rule stays: ${message}`))
    ),

  /** What the kernel has of the commands' tables; what isn't what was sent is a defect. */
  readBack: (commands: ReadonlyArray<Json>) =>
    Effect.gen(function*() {
      const tables = tablesOf(commands)
      const listed = yield* elementsWithin(commands) ? nft.list : nft.structure
      if (!sameStructure(commands, listed)) {
        yield* Effect.logError("firewall: the kernel lists other tables than were sent", { tables })
      }
      const own = listed
        .filter((object) => declarations([object]).some((declared) => tables.includes(tableOf(declared))))
        .map(redeclarable)
      return elementsWithin(commands) ? own : [withoutElements, ...own]
    }),

  /** Whether a baseline was read with its elements. */
  hasElements: (baseline: ReadonlyArray<unknown>) => !isDeepStrictEqual(baseline[0], withoutElements)
})
