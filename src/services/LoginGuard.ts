import { Context, Data, type DateTime, type Duration, Effect, Layer, Option } from "effect"
import { ipOctets } from "../schema/Ip.ts"
import type { UserId } from "../schema/User.ts"
import { type Reservation, SignInAttempts } from "./SignInAttempts.ts"
import { SignInEvents } from "./SignInEvents.ts"
import { SignInLimits } from "./SignInLimits.ts"
import { sha256 } from "./tokens.ts"

/** Too many attempts, whoever made them and whether or not the account exists. */
export class TooManyAttempts extends Data.TaggedError("SignIn/TooManyAttempts")<{
  readonly retryAfter: Duration.Duration
}> {}

/** What attempts are counted under: one IPv4 address, or the /64 that an IPv6 client has to itself. */
const networkOf = (address: string): string =>
  address.includes(":") ? `${(ipOctets(address) ?? []).slice(0, 8).join(".")}/64` : address

/** The key of an account in the counts: a digest, because what strangers type may be a password. */
export const accountKey = (username: string) => sha256(username.toLowerCase())

/** Who tries: by the name that was typed, and known or not. */
export interface Attempt {
  readonly username: string
  readonly userId?: UserId | undefined
  readonly address: string
}

/** Counts the attempts on accounts and from addresses, and refuses what is too many. */
export class LoginGuard extends Context.Tag("services/LoginGuard")<
  LoginGuard,
  {
    readonly admitAddress: (address: string, now: DateTime.Utc) => Effect.Effect<void, TooManyAttempts>
    /** Runs a proof of an account's owner; it counts as failed until it says otherwise. */
    readonly reserve: (
      attempt: Attempt,
      now: DateTime.Utc
    ) => Effect.Effect<Extract<Reservation, { readonly _tag: "Admitted" }>, TooManyAttempts>
    readonly failed: (attempt: Attempt, failures: number) => Effect.Effect<void>
    readonly release: (username: string) => Effect.Effect<void>
    readonly clear: (username: string) => Effect.Effect<void>
  }
>() {}

export const LoginGuardLive = Layer.effect(
  LoginGuard,
  Effect.gen(function*() {
    const attempts = yield* SignInAttempts
    const events = yield* SignInEvents
    const limits = yield* SignInLimits

    return LoginGuard.of({
      admitAddress: Effect.fn("LoginGuard.admitAddress")(function*(address, now) {
        const wait = yield* attempts.admit(networkOf(address), limits.address, now)
        if (Option.isNone(wait)) return
        yield* events.publish({ type: "login.rate_limited", userId: undefined, username: undefined, address })
        return yield* new TooManyAttempts({ retryAfter: wait.value })
      }),
      reserve: Effect.fn("LoginGuard.reserve")(function*({ username }, now) {
        const reserved = yield* attempts.reserve(yield* accountKey(username), limits.lockout, now)
        if (reserved._tag === "Admitted") return reserved
        return yield* new TooManyAttempts({ retryAfter: reserved.retryAfter })
      }),
      failed: Effect.fn("LoginGuard.failed")(function*({ address, userId, username }, failures) {
        if (failures < limits.lockout.max) return
        yield* events.publish({
          type: "login.locked",
          userId,
          username: userId === undefined ? undefined : username,
          address,
          detail: { failures }
        })
      }),
      release: (username) => Effect.flatMap(accountKey(username), attempts.release),
      clear: (username) => Effect.flatMap(accountKey(username), attempts.clear)
    })
  })
)
