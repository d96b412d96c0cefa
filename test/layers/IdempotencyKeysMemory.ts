import { DateTime, Effect, Layer } from "effect"
import {
  type Claim,
  IdempotencyKeys,
  type KeyScope,
  type RememberedAnswer
} from "../../src/services/IdempotencyKeys.ts"

interface Row {
  claimId: string
  fingerprint: string
  answer: RememberedAnswer | undefined
  leaseUntil: DateTime.Utc
  expiresAt: DateTime.Utc
}

export const IdempotencyKeysMemory = Layer.sync(IdempotencyKeys, () => {
  const rows = new Map<string, Row>()
  const name = ({ key, method, path, userId }: KeyScope) => JSON.stringify([userId, method, path, key])
  const mine = (scope: KeyScope, claimId: string) => {
    const row = rows.get(name(scope))
    return row?.claimId === claimId && row.answer === undefined ? row : undefined
  }
  return IdempotencyKeys.of({
    claim: ({ at, claimId, expiresAt, fingerprint, leaseUntil, scope }) =>
      Effect.sync((): Claim => {
        const held = rows.get(name(scope))
        const free = held === undefined || DateTime.lessThanOrEqualTo(held.expiresAt, at) ||
          (held.answer === undefined && held.fingerprint === fingerprint &&
            DateTime.lessThanOrEqualTo(held.leaseUntil, at))
        if (free) {
          rows.set(name(scope), { claimId, fingerprint, answer: undefined, leaseUntil, expiresAt })
          return { _tag: "Granted" }
        }
        if (held.fingerprint !== fingerprint) return { _tag: "Reused" }
        return held.answer === undefined ? { _tag: "InFlight" } : { _tag: "Answered", answer: held.answer }
      }),
    renew: (scope, claimId, leaseUntil) =>
      Effect.sync(() => {
        const row = mine(scope, claimId)
        if (row !== undefined) row.leaseUntil = leaseUntil
        return row !== undefined
      }),
    finish: (scope, claimId, answer) =>
      Effect.sync(() => {
        const row = mine(scope, claimId)
        if (row !== undefined) row.answer = answer
        return row !== undefined
      }),
    release: (scope, claimId) =>
      Effect.sync(() => {
        if (mine(scope, claimId) !== undefined) rows.delete(name(scope))
      }),
    forget: (at) =>
      Effect.sync(() => {
        for (const [key, row] of rows) if (DateTime.lessThanOrEqualTo(row.expiresAt, at)) rows.delete(key)
      })
  })
})
