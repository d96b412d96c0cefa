import { Clock, Context, DateTime, Duration, Effect, Layer } from "effect"
import { evaluate, type IpRestrictionId, type Rule } from "../schema/IpRestriction.ts"
import type { UserId } from "../schema/User.ts"
import { IpRestrictions, type Matches } from "./IpRestrictions.ts"

/**
 * How old the copy of the entries may be that a decision rests on, how long after a change of its own a node looks at
 * the store for each decision, and how often matches are written down.
 */
export const guardLimits = {
  freshFor: Duration.millis(500),
  dirtyFor: Duration.seconds(1),
  countEvery: Duration.seconds(5)
}

/**
 * Holds users to their IP restrictions on every request without a query for each: decisions rest on a copy of the
 * entries that is at most `freshFor` old, so that a change binds on all nodes within that time, and at once on the
 * node that made it.
 */
export class IpGuard extends Context.Tag("services/IpGuard")<
  IpGuard,
  {
    /** Whether the user may use the service from the address; counts the match. */
    readonly admits: (userId: UserId, address: string | undefined) => Effect.Effect<boolean>
    /** Whether the user may go on with what was begun from the address; counts nothing. */
    readonly stillAdmits: (userId: UserId, address: string | undefined) => Effect.Effect<boolean>
    /** Tells that a change was made here, committed now or in a moment. */
    readonly changed: Effect.Effect<void>
  }
>() {}

interface Copy {
  readonly revision: number
  readonly rules: ReadonlyMap<UserId, ReadonlyArray<Rule>>
}

export const IpGuardLive = Layer.scoped(
  IpGuard,
  Effect.gen(function*() {
    const restrictions = yield* IpRestrictions
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const matches = new Map<IpRestrictionId, Matches>()
    let copy: Copy = { revision: -1, rules: new Map() }
    let readAt = -Infinity
    let dirtyUntil = -Infinity

    const freshAt = (now: number) => now - readAt < Duration.toMillis(guardLimits.freshFor) && now >= dirtyUntil

    const refresh = Effect.gen(function*() {
      const asked = yield* Clock.currentTimeMillis
      if (freshAt(asked)) return
      if ((yield* restrictions.revision) !== copy.revision) copy = yield* restrictions.enabled
      readAt = asked
    }).pipe(oneAtATime.withPermits(1))

    const report = Effect.suspend(() => {
      const counted = [...matches.values()]
      matches.clear()
      return restrictions.countMatches(counted)
    })

    yield* Effect.addFinalizer(() => Effect.ignoreLogged(Effect.sandbox(report)))
    yield* report.pipe(
      Effect.catchAllDefect((defect) => Effect.logWarning("matches of IP restrictions were not counted", defect)),
      Effect.delay(guardLimits.countEvery),
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )

    const judge = Effect.fnUntraced(function*(userId: UserId, address: string | undefined, now: DateTime.Utc) {
      if (!freshAt(DateTime.toEpochMillis(now))) yield* refresh
      const rules = copy.rules.get(userId)
      return rules === undefined ? { allowed: true, matched: null } : evaluate(rules, address, now)
    })

    return IpGuard.of({
      stillAdmits: (userId, address) =>
        Effect.flatMap(DateTime.now, (now) => Effect.map(judge(userId, address, now), ({ allowed }) => allowed)),
      admits: Effect.fnUntraced(function*(userId, address) {
        const now = yield* DateTime.now
        const { allowed, matched } = yield* judge(userId, address, now)
        if (matched !== null) {
          matches.set(matched, { id: matched, count: (matches.get(matched)?.count ?? 0) + 1, last: now })
        }
        return allowed
      }),
      changed: Effect.map(Clock.currentTimeMillis, (now) => {
        dirtyUntil = now + Duration.toMillis(guardLimits.dirtyFor)
      })
    })
  })
)
