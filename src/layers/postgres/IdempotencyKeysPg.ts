import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { type Claim, IdempotencyKeys, type KeyScope, type RememberedAnswer } from "../../services/IdempotencyKeys.ts"

const Answer = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  body: Schema.String
})
const Held = Schema.Struct({ fingerprint: Schema.String, answer: Schema.NullOr(Answer) })

export const IdempotencyKeysPg = Layer.effect(
  IdempotencyKeys,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const of = ({ key, method, path, userId }: KeyScope) =>
      sql`user_id = ${userId} AND method = ${method} AND path = ${path} AND key = ${key}`
    const mine = (scope: KeyScope, claimId: string) =>
      sql`${of(scope)} AND claim_id = ${claimId}::uuid AND answer IS NULL`

    const selectHeld = (scope: KeyScope) =>
      SqlSchema.findOne({
        Request: Schema.Void,
        Result: Held,
        execute: () => sql`SELECT fingerprint, answer FROM idempotency_keys WHERE ${of(scope)}`
      })()

    const claim: IdempotencyKeys["Type"]["claim"] = Effect.fn("IdempotencyKeys.claim")(function*(request) {
      const { at, claimId, expiresAt, fingerprint, leaseUntil, scope } = request
      const now = DateTime.toDateUtc(at)
      const granted = yield* sql`
        INSERT INTO idempotency_keys AS held
          (user_id, method, path, key, claim_id, fingerprint, lease_until, expires_at)
        VALUES (${scope.userId}, ${scope.method}, ${scope.path}, ${scope.key}, ${claimId}::uuid, ${fingerprint},
          ${DateTime.toDateUtc(leaseUntil)}, ${DateTime.toDateUtc(expiresAt)})
        ON CONFLICT (user_id, method, path, key) DO UPDATE SET claim_id = excluded.claim_id,
          fingerprint = excluded.fingerprint, answer = NULL, lease_until = excluded.lease_until,
          expires_at = excluded.expires_at
        WHERE held.expires_at <= ${now} OR (held.answer IS NULL AND held.lease_until <= ${now}
          AND held.fingerprint = excluded.fingerprint)
        RETURNING 1`.pipe(Effect.orDie)
      if (granted.length > 0) return { _tag: "Granted" } satisfies Claim
      const held = yield* Effect.orDie(selectHeld(scope))
      // Given back between the two statements: free again.
      if (Option.isNone(held)) return yield* claim(request)
      if (held.value.fingerprint !== fingerprint) return { _tag: "Reused" } satisfies Claim
      return held.value.answer === null
        ? { _tag: "InFlight" } satisfies Claim
        : { _tag: "Answered", answer: held.value.answer } satisfies Claim
    })

    const changed = (rows: ReadonlyArray<unknown>) => rows.length > 0

    return IdempotencyKeys.of({
      claim,
      renew: (scope, claimId, leaseUntil) =>
        sql`UPDATE idempotency_keys SET lease_until = ${DateTime.toDateUtc(leaseUntil)}
          WHERE ${mine(scope, claimId)} RETURNING 1`.pipe(Effect.map(changed), Effect.orDie),
      finish: (scope, claimId, answer: RememberedAnswer) =>
        sql`UPDATE idempotency_keys SET answer = ${JSON.stringify(answer)}::jsonb
          WHERE ${mine(scope, claimId)} RETURNING 1`.pipe(Effect.map(changed), Effect.orDie),
      release: (scope, claimId) =>
        Effect.orDie(Effect.asVoid(sql`DELETE FROM idempotency_keys WHERE ${mine(scope, claimId)}`)),
      forget: (at) =>
        Effect.orDie(Effect.asVoid(
          sql`DELETE FROM idempotency_keys WHERE expires_at <= ${DateTime.toDateUtc(at)}`
        ))
    })
  })
)
