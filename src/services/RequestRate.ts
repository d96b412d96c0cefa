import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Schedule } from "effect"
import { RequestCounts } from "./RequestCounts.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** How often nodes tell each other what they counted. */
const exchangeEvery = Duration.seconds(1)

/** Share of the quota up to which a node keeps a token's count to itself: ordinary use writes nothing. */
const quietShare = 0.1

interface Tally {
  windowStart: number
  /** Requests known of all nodes, up to the last exchange. */
  shared: number
  /** Requests of this node since. */
  own: number
}

/**
 * Limits the requests of each token within fixed windows. Counted in memory and exchanged with the other nodes each
 * second, so the limit of several nodes together is exact to a second's requests.
 */
export class RequestRate extends Context.Tag("services/RequestRate")<
  RequestRate,
  {
    /** Counts a request of a session or API token; where it is too many: how long until the window ends. */
    readonly take: (token: string) => Effect.Effect<Option.Option<Duration.Duration>>
  }
>() {}

export const RequestRateLive = Layer.scoped(
  RequestRate,
  Effect.gen(function*() {
    const counts = yield* RequestCounts
    const { requests: { max, window } } = yield* SignInLimits
    const windowMillis = Duration.toMillis(window)
    const tallies = new Map<string, Tally>()
    const windowOf = (now: number) => Math.floor(now / windowMillis) * windowMillis

    const exchange = Effect.gen(function*() {
      const current = windowOf(yield* Clock.currentTimeMillis)
      for (const [token, tally] of tallies) if (tally.windowStart < current) tallies.delete(token)
      const told = [...tallies].filter(([, tally]) =>
        tally.own > 0 && (tally.shared > 0 || tally.own > max * quietShare)
      ).map(([token, tally]) => ({ token, tally, requests: tally.own }))
      const sums = yield* counts.add(
        told.map(({ requests, tally, token }) => ({
          token,
          requests,
          windowStart: DateTime.unsafeMake(tally.windowStart)
        }))
      )
      told.forEach(({ requests, tally }, index) => {
        tally.own -= requests
        tally.shared = sums[index]!
      })
    }).pipe(Effect.catchAllCause((cause) => Effect.logDebug("request counts were not exchanged", cause)))
    yield* Effect.forkScoped(Effect.repeat(exchange, Schedule.spaced(exchangeEvery)))

    return RequestRate.of({
      take: (token) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const windowStart = windowOf(now)
          const known = tallies.get(token)
          const tally = known?.windowStart === windowStart ? known : { windowStart, shared: 0, own: 0 }
          if (tally !== known) tallies.set(token, tally)
          if (tally.shared + tally.own >= max) return Option.some(Duration.millis(windowStart + windowMillis - now))
          tally.own++
          return Option.none()
        })
    })
  })
)
