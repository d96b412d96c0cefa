import { DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { ApiToken } from "../../src/schema/ApiToken.ts"
import type { PageRequest } from "../../src/schema/Page.ts"
import { pageOfRows, positionOf } from "../../src/schema/Position.ts"
import type { UserId } from "../../src/schema/User.ts"
import { ApiTokens } from "../../src/services/ApiTokens.ts"
import { MfaChallenges } from "../../src/services/MfaChallenges.ts"
import { MfaFactors } from "../../src/services/MfaFactors.ts"
import { RequestCounts } from "../../src/services/RequestCounts.ts"
import { Secrets } from "../../src/services/Secrets.ts"
import { SignInAttempts } from "../../src/services/SignInAttempts.ts"
import { UsersState, UsersStateMemory } from "./UsersMemory.ts"

/** A page of rows, newest first. */
export const pageNewest = <A extends { readonly id: string; readonly createdAt: DateTime.Utc }>(
  rows: ReadonlyArray<A>,
  { cursor, limit }: PageRequest
) =>
  Effect.map(positionOf(cursor), (after) => {
    const order = (a: { at: DateTime.Utc; id: string }, b: { at: DateTime.Utc; id: string }) =>
      DateTime.toEpochMillis(b.at) - DateTime.toEpochMillis(a.at) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
    const place = (row: A) => ({ at: row.createdAt, id: row.id })
    const sorted = [...rows].sort((a, b) => order(place(a), place(b)))
    const rest = after === undefined ? sorted : sorted.filter((row) => order(place(row), after) > 0)
    return pageOfRows(rest.slice(0, limit + 1), limit, rows.length, place)
  })

/** API tokens of the users of `UsersMemory`. */
export const ApiTokensMemory = Layer.effect(
  ApiTokens,
  Effect.map(UsersState, (accounts) => {
    const kept = new Map<string, { token: ApiToken; readonly userId: UserId }>()
    return ApiTokens.of({
      create: (token, userId, tokenHash) => Effect.sync(() => void kept.set(tokenHash, { token, userId })),
      resolve: (tokenHash, now) =>
        Effect.sync(() => {
          const entry = kept.get(tokenHash)
          const account = [...accounts.values()].find(({ user }) => user.id === entry?.userId)
          if (entry === undefined || account === undefined || account.user.disabled) return Option.none()
          const { token } = entry
          if (token.expiresAt !== null && DateTime.lessThanOrEqualTo(token.expiresAt, now)) return Option.none()
          const stale = token.lastUsedAt === null ||
            Duration.greaterThanOrEqualTo(DateTime.distanceDuration(token.lastUsedAt, now), Duration.minutes(1))
          if (stale) entry.token = { ...token, lastUsedAt: now }
          return Option.some({ token, user: account.user })
        }),
      list: (userId, page) =>
        pageNewest([...kept.values()].filter((entry) => entry.userId === userId).map(({ token }) => token), page),
      get: (id, userId) =>
        Effect.sync(() =>
          Option.fromNullable(
            [...kept.values()].find((entry) => entry.token.id === id && entry.userId === userId)?.token
          )
        ),
      remove: (id, userId) =>
        Effect.sync(() => {
          const found = [...kept].find(([, entry]) => entry.token.id === id && entry.userId === userId)
          return found !== undefined && kept.delete(found[0])
        })
    })
  })
).pipe(Layer.provide(UsersStateMemory))

export const SignInAttemptsMemory = Layer.sync(SignInAttempts, () => {
  const addresses = new Map<string, Array<number>>()
  const accounts = new Map<string, { failures: number; last: number }>()
  return SignInAttempts.of({
    admit: (address, { max, window }, now) =>
      Effect.sync(() => {
        const at = DateTime.toEpochMillis(now)
        const recent = addresses.get(address) ?? []
        const oldest = recent.length < max ? undefined : recent[recent.length - max]!
        if (oldest !== undefined && oldest > at - Duration.toMillis(window)) {
          return Option.some(Duration.millis(Math.max(1000, oldest + Duration.toMillis(window) - at)))
        }
        addresses.set(address, [...recent, at].slice(-max))
        return Option.none()
      }),
    reserve: (account, { max, window }, now) =>
      Effect.sync(() => {
        const at = DateTime.toEpochMillis(now)
        const known = accounts.get(account)
        const old = known === undefined || known.last <= at - Duration.toMillis(window)
        if (!old && known.failures >= max) {
          const left = known.last + Duration.toMillis(window) - at
          return { _tag: "Locked" as const, retryAfter: Duration.millis(Math.max(1000, left)) }
        }
        const failures = old ? 1 : known.failures + 1
        accounts.set(account, { failures, last: Math.max(known?.last ?? at, at) })
        return { _tag: "Admitted" as const, failures }
      }),
    release: (account) =>
      Effect.sync(() => {
        const known = accounts.get(account)
        if (known !== undefined && known.failures > 0) known.failures--
      }),
    clear: (account) => Effect.sync(() => void accounts.delete(account)),
    purge: (before) =>
      Effect.sync(() => {
        const at = DateTime.toEpochMillis(before)
        for (const [key, { last }] of accounts) if (last <= at) accounts.delete(key)
        for (const [key, recent] of addresses) if (recent.at(-1)! <= at) addresses.delete(key)
      })
  })
})

interface Factor {
  readonly sealedSecret: string
  confirmed: boolean
  lastStep: number
  readonly unused: Set<string>
}

export const MfaFactorsMemory = Layer.sync(MfaFactors, () => {
  const factors = new Map<UserId, Factor>()
  return MfaFactors.of({
    find: (userId) =>
      Effect.sync(() =>
        Option.map(Option.fromNullable(factors.get(userId)), ({ confirmed, sealedSecret }) => ({
          sealedSecret,
          confirmed
        }))
      ),
    offer: (userId, sealedSecret) =>
      Effect.sync(() => {
        if (factors.get(userId)?.confirmed === true) return false
        factors.set(userId, { sealedSecret, confirmed: false, lastStep: 0, unused: new Set() })
        return true
      }),
    confirm: (userId, { recoveryHashes, sealedSecret, step }) =>
      Effect.sync(() => {
        const factor = factors.get(userId)
        if (factor === undefined || factor.confirmed || factor.sealedSecret !== sealedSecret) return false
        factors.set(userId, { sealedSecret, confirmed: true, lastStep: step, unused: new Set(recoveryHashes) })
        return true
      }),
    acceptStep: (userId, step) =>
      Effect.sync(() => {
        const factor = factors.get(userId)
        if (factor === undefined || !factor.confirmed || factor.lastStep >= step) return false
        factor.lastStep = step
        return true
      }),
    useRecoveryCode: (userId, hash) => Effect.sync(() => factors.get(userId)?.unused.delete(hash) ?? false),
    remove: (userId) => Effect.sync(() => factors.delete(userId))
  })
})

export const MfaChallengesMemory = Layer.sync(MfaChallenges, () => {
  const challenges = new Map<string, { readonly userId: UserId; readonly expiresAt: DateTime.Utc; tries: number }>()
  return MfaChallenges.of({
    create: ({ expiresAt, tokenHash, userId }) =>
      Effect.sync(() => void challenges.set(tokenHash, { userId, expiresAt, tries: 0 })),
    attempt: (tokenHash, max, now) =>
      Effect.sync(() => {
        const challenge = challenges.get(tokenHash)
        if (challenge === undefined || challenge.tries >= max) return Option.none()
        if (DateTime.lessThanOrEqualTo(challenge.expiresAt, now)) return Option.none()
        challenge.tries++
        return Option.some(challenge.userId)
      }),
    consume: (tokenHash) => Effect.sync(() => challenges.delete(tokenHash)),
    purge: (now) =>
      Effect.sync(() => {
        for (const [key, { expiresAt }] of challenges) {
          if (DateTime.lessThanOrEqualTo(expiresAt, now)) challenges.delete(key)
        }
      })
  })
})

export const RequestCountsMemory = Layer.sync(RequestCounts, () => {
  const sums = new Map<string, { at: number; requests: number }>()
  return RequestCounts.of({
    add: (counts) =>
      Effect.sync(() =>
        counts.map(({ requests, token, windowStart }) => {
          const at = DateTime.toEpochMillis(windowStart)
          const key = `${token} ${at}`
          const sum = (sums.get(key)?.requests ?? 0) + requests
          sums.set(key, { at, requests: sum })
          return sum
        })
      ),
    purge: (before) =>
      Effect.sync(() => {
        for (const [key, { at }] of sums) if (at < DateTime.toEpochMillis(before)) sums.delete(key)
      })
  })
})

/** Seals by writing the context beside the text. */
export const SecretsMemory = Layer.succeed(
  Secrets,
  Secrets.of({
    seal: (secret, context) =>
      Effect.sync(() =>
        `memory.${btoa(JSON.stringify([encodeURIComponent(context), encodeURIComponent(Redacted.value(secret))]))}`
      ),
    open: (sealed, context) =>
      Effect.sync(() => {
        const [of, text] = JSON.parse(atob(sealed.slice("memory.".length))) as [string, string]
        if (decodeURIComponent(of) !== context) throw new Error("sealed for another context")
        return Redacted.make(decodeURIComponent(text))
      })
  })
)
