import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { MfaChallenges } from "./MfaChallenges.ts"
import { RequestCounts } from "./RequestCounts.ts"
import { Sessions } from "./Sessions.ts"
import { SignInAttempts } from "./SignInAttempts.ts"
import { SignInLimits } from "./SignInLimits.ts"

const sweepEvery = Duration.minutes(10)

/** Forgets sessions, challenges and counts that can't matter any more, every 10 minutes. */
export const SignInSweeperLive = Layer.scopedDiscard(
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const challenges = yield* MfaChallenges
    const attempts = yield* SignInAttempts
    const counts = yield* RequestCounts
    const { address, lockout, requests, session } = yield* SignInLimits
    const longest = Duration.max(address.window, lockout.window)

    const sweep = Effect.gen(function*() {
      const now = yield* DateTime.now
      yield* sessions.purge({ now, idleSince: DateTime.subtractDuration(now, session.idle) })
      yield* challenges.purge(now)
      yield* attempts.purge(DateTime.subtractDuration(now, longest))
      yield* counts.purge(DateTime.subtractDuration(now, Duration.times(requests.window, 2)))
    }).pipe(Effect.catchAllCause((cause) => Effect.logWarning("what is over was not forgotten", cause)))

    yield* Effect.forkScoped(Effect.schedule(sweep, Schedule.spaced(sweepEvery)))
  })
)
