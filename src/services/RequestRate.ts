import { Clock, Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { RequestCounts } from "./RequestCounts.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** How long a node gathers what it tells the others. */
const gathering = Duration.seconds(1)

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
 * Limits the requests of each token within fixed windows. Counted in memory, and exchanged with the other nodes a second
 * after there is something to tell, so the limit of several nodes together is exact to a second's requests.
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

    const isTold = ({ own, shared }: Tally) => own > 0 && (shared > 0 || own > max * quietShare)
    const somethingToTell = yield* Effect.makeLatch()
    let latestWindow = 0

    const exchange = Effect.gen(function*() {
      const told = [...tallies].filter(([, tally]) => isTold(tally)).map(([token, tally]) => ({
        token,
        tally,
        requests: tally.own
      }))
      if (told.length === 0) return
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
    })
    yield* somethingToTell.await.pipe(
      Effect.zipRight(Effect.sleep(gathering)),
      Effect.zipRight(somethingToTell.close),
      Effect.zipRight(exchange),
      Effect.catchAllCause((cause) =>
        Effect.zipRight(somethingToTell.open, Effect.logDebug("request counts were not exchanged", cause))
      ),
      Effect.forever,
      Effect.forkScoped
    )

    return RequestRate.of({
      take: (token) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const windowStart = windowOf(now)
          if (windowStart !== latestWindow) tallies.clear()
          latestWindow = windowStart
          const known = tallies.get(token)
          const tally = known ?? { windowStart, shared: 0, own: 0 }
          tallies.set(token, tally)
          if (tally.shared + tally.own >= max) return Option.some(Duration.millis(windowStart + windowMillis - now))
          tally.own++
          if (isTold(tally)) somethingToTell.unsafeOpen()
          return Option.none()
        })
    })
  })
)
