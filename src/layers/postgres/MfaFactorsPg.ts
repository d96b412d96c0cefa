import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { MfaFactors } from "../../services/MfaFactors.ts"

const decodeFactors = Schema.decodeUnknown(
  Schema.Array(Schema.Struct({ sealed_secret: Schema.String, confirmed: Schema.Boolean }))
)
const one = (rows: ReadonlyArray<unknown>) => rows.length === 1

export const MfaFactorsPg = Layer.effect(
  MfaFactors,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return MfaFactors.of({
      find: (userId) =>
        sql`SELECT sealed_secret, confirmed_at IS NOT NULL AS confirmed FROM mfa_factors WHERE user_id = ${userId}`
          .pipe(
            Effect.flatMap(decodeFactors),
            Effect.map(([row]) =>
              row === undefined
                ? Option.none()
                : Option.some({ sealedSecret: row.sealed_secret, confirmed: row.confirmed })
            ),
            Effect.orDie
          ),
      offer: (userId, sealedSecret, at) =>
        sql`INSERT INTO mfa_factors (user_id, sealed_secret, offered_at)
            VALUES (${userId}, ${sealedSecret}, ${DateTime.toDateUtc(at)})
          ON CONFLICT (user_id) DO UPDATE
            SET sealed_secret = excluded.sealed_secret, offered_at = excluded.offered_at, last_step = 0
            WHERE mfa_factors.confirmed_at IS NULL
          RETURNING user_id`.pipe(Effect.map(one), Effect.orDie),
      confirm: (userId, { recoveryHashes, sealedSecret, step }, at) =>
        sql`WITH confirmed AS (
            UPDATE mfa_factors SET confirmed_at = ${DateTime.toDateUtc(at)}, last_step = ${step}::bigint
            WHERE user_id = ${userId} AND confirmed_at IS NULL AND sealed_secret = ${sealedSecret}
            RETURNING user_id
          ), codes AS (
            INSERT INTO mfa_recovery_codes (user_id, hash)
            SELECT user_id, hash FROM confirmed, unnest(${recoveryHashes}::text[]) AS hash
          )
          SELECT user_id FROM confirmed`.pipe(Effect.map(one), Effect.orDie),
      acceptStep: (userId, step) =>
        sql`UPDATE mfa_factors SET last_step = ${step}::bigint
          WHERE user_id = ${userId} AND confirmed_at IS NOT NULL AND last_step < ${step}::bigint
          RETURNING user_id`.pipe(Effect.map(one), Effect.orDie),
      useRecoveryCode: (userId, hash, at) =>
        sql`UPDATE mfa_recovery_codes SET used_at = ${DateTime.toDateUtc(at)}
          WHERE user_id = ${userId} AND hash = ${hash} AND used_at IS NULL RETURNING user_id`.pipe(
          Effect.map(one),
          Effect.orDie
        ),
      remove: (userId) =>
        sql`DELETE FROM mfa_factors WHERE user_id = ${userId} RETURNING user_id`.pipe(Effect.map(one), Effect.orDie)
    })
  })
)
