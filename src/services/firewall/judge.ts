import { Effect, Either, Fiber } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { FirewallDiff, RulesetError, RulesetWarning } from "../../schema/FirewallConfig.ts"
import type { Connection, Nft, NftRejected, NftUnavailable } from "../Nft.ts"
import { declarations, isJson, type Json, pointerTo, tableOf, tablesOf } from "./commands.ts"
import { difference } from "./difference.ts"
import { linkErrors } from "./links.ts"
import { lockout } from "./lockout.ts"
import { asCommands, refusals } from "./policy.ts"
import { type Replacement, replacement } from "./replacement.ts"
import { warnings } from "./warnings.ts"

type NftService = Nft["Type"]

/** Above this many declared elements, elements aren't compared: listing them takes longer than applying them. */
export const comparedElementsMax = 5_000

/** How many elements a ruleset declares. */
export const elementCount = (commands: ReadonlyArray<unknown>): number =>
  declarations(commands).reduce((count, { body }) => count + (Array.isArray(body["elem"]) ? body["elem"].length : 0), 0)

/**
 * The error of nft, with the command that it is about: nft names no place in JSON, so prefixes of the transaction are
 * checked, about log2(n) of them, until the first that fails is known.
 */
export const located = (
  nft: NftService,
  { commands, start }: Replacement,
  rejection: NftRejected
): Effect.Effect<ReadonlyArray<RulesetError>, NftUnavailable> =>
  Effect.gen(function*() {
    const check = (length: number) =>
      Effect.either(nft.check(commands.slice(0, length))).pipe(
        Effect.flatMap((verdict) =>
          Either.isLeft(verdict) && verdict.left._tag === "Nft/Unavailable"
            ? Effect.fail(verdict.left)
            : Effect.succeed(Either.isLeft(verdict) ? verdict.left as NftRejected : undefined)
        )
      )
    let [accepted, rejected, reason] = [start, commands.length, rejection]
    // It is often the last one: what is added to something that was right.
    let probe = rejected - 1
    while (rejected - accepted > 1) {
      const verdict = yield* check(probe)
      if (verdict === undefined) accepted = probe
      else [rejected, reason] = [probe, verdict]
      probe = (accepted + rejected) >> 1
    }
    const index = rejected - 1 - start
    const command = commands[rejected - 1] ?? {}
    const key = Object.keys(command)[0] ?? ""
    return [{
      source: "nft",
      pointer: index < 0 ? "" : pointerTo("/nftables", index, key),
      message: reason.messages.join("; ")
    }]
  })

/** A transaction, and nft's verdict on it. */
export interface Checked {
  readonly plan: Replacement
  readonly verdict: Effect.Effect<Either.Either<void, NftRejected | NftUnavailable>>
}

const isSame = (a: Replacement, b: Replacement) =>
  isDeepStrictEqual(a.bridged, b.bridged) &&
  isDeepStrictEqual(a.commands.slice(0, a.start), b.commands.slice(0, b.start))

/**
 * The transaction that nft takes: in place if possible, and else with the tables made anew. The verdict on a guess of
 * it for the same commands is asked for where the guess was right.
 */
export const accepted = (
  nft: NftService,
  running: ReadonlyArray<unknown>,
  commands: ReadonlyArray<Json>,
  removed: ReadonlyArray<string>,
  guess?: Checked
) =>
  Effect.gen(function*() {
    const first = replacement(running, commands, { removed })
    const isRight = guess !== undefined && isSame(guess.plan, first)
    const verdict = yield* isRight ? guess.verdict : Effect.either(nft.check(first.commands))
    const linked = (plan: Replacement) => {
      const links = linkErrors(commands)
      return links.length > 0 ? Either.left(links) : Either.right(plan)
    }
    if (Either.isRight(verdict)) return linked(first)
    if (verdict.left._tag === "Nft/Unavailable") return yield* verdict.left
    if (first.start > 0) {
      const second = replacement(running, commands, { removed, anew: true })
      const retried = yield* Effect.either(nft.check(second.commands))
      if (Either.isRight(retried)) return linked(second)
    }
    return Either.left(yield* located(nft, first, verdict.left))
  })

/** The running ruleset, with its elements where they are few enough to be compared with the ruleset's. */
export const comparable = (nft: NftService, commands: ReadonlyArray<unknown>) =>
  elementCount(commands) <= comparedElementsMax ? nft.list : nft.structure

/** What would change in what `comparable` listed if these commands were applied. */
export const differenceFrom = (
  running: ReadonlyArray<unknown>,
  commands: ReadonlyArray<unknown>,
  removed: ReadonlyArray<string>
) => {
  const tables = tablesOf(commands)
  const present = tablesOf(running).some((table) => tables.includes(table))
  const compareElements = !present || elementCount(commands) <= comparedElementsMax
  return difference(running, commands, [...new Set([...tables, ...removed])], compareElements)
}

export interface Judgement {
  readonly valid: boolean
  readonly errors: ReadonlyArray<RulesetError>
  readonly warnings: ReadonlyArray<RulesetWarning>
  readonly diff: FirewallDiff | null
}

/** Of the tables that the ruleset declares, those that run and that nobody here applied. */
const strangersIn = (
  ruleset: ReadonlyArray<unknown>,
  running: ReadonlySet<string>,
  owned: ReadonlySet<string>
): ReadonlyArray<RulesetWarning> => {
  const seen = new Set<string>()
  return declarations(ruleset).flatMap((object) => {
    const table = tableOf(object)
    if (!running.has(table) || owned.has(table) || seen.has(table)) return []
    seen.add(table)
    const message = "This table runs and wasn't applied by this service: an apply is refused unless it says `adopt`"
    return [{ code: "table_foreign", pointer: object.pointer, message }]
  })
}

const withoutElements = (object: unknown): unknown => {
  const [[kind = "", body] = []] = isJson(object) ? Object.entries(object) : []
  return isJson(body) && body["elem"] !== undefined ? { [kind]: { ...body, elem: undefined } } : object
}

/** Our refusals first; without any, nft's verdict on the transaction that an apply would send. */
export const makeJudge = (nft: NftService, service: {
  readonly port: number
  /** Of the tables that run, those that a configuration has applied. */
  readonly owned: Effect.Effect<ReadonlySet<string>>
}) => {
  /** What ran when somebody looked: it is probably what runs. */
  let seen: ReadonlyArray<unknown> = []

  return (ruleset: ReadonlyArray<unknown>, caller?: Connection): Effect.Effect<Judgement, NftUnavailable> =>
    Effect.scoped(Effect.gen(function*() {
      // The tool works while we do.
      const listing = yield* Effect.forkScoped(comparable(nft, ruleset))
      yield* Effect.yieldNow()
      const refused = refusals(ruleset)
      if (refused.length > 0) return { valid: false, errors: refused, warnings: [], diff: null }
      const commands = asCommands(ruleset)
      const plan = replacement(seen, commands)
      const guessing = yield* Effect.forkScoped(Effect.either(nft.check(plan.commands)))
      const trying = yield* Effect.forkScoped(lockout(nft, commands, caller))
      const running = yield* Fiber.join(listing)
      seen = running.map(withoutElements)
      const guess = { plan, verdict: Fiber.join(guessing) }
      const checking = yield* Effect.forkScoped(accepted(nft, running, commands, [], guess))
      yield* Effect.yieldNow()
      const diff = differenceFrom(running, commands, [])
      const present = new Set(tablesOf(running))
      const meets = tablesOf(ruleset).some((table) => present.has(table))
      const strangers = meets ? strangersIn(ruleset, present, yield* service.owned) : []
      const verdict = yield* Fiber.join(checking)
      if (Either.isLeft(verdict)) return { valid: false, errors: verdict.left, warnings: [], diff: null }
      const told = [...strangers, ...warnings(ruleset, service), ...(yield* Fiber.join(trying))]
      return { valid: true, errors: [], warnings: told, diff }
    }))
}
