import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { UserId } from "../../schema/User.ts"
import { MfaChallenges } from "../../services/MfaChallenges.ts"

const decodeUsers = Schema.decodeUnknown(Schema.Array(Schema.Struct({ user_id: UserId })))

export const MfaChallengesPg = Layer.effect(
  MfaChallenges,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return MfaChallenges.of({
      create: ({ expiresAt, tokenHash, userId }) =>
        Effect.orDie(
          sql`INSERT INTO mfa_challenges (token_hash, user_id, expires_at)
            VALUES (${tokenHash}, ${userId}, ${DateTime.toDateUtc(expiresAt)})`
        ),
      attempt: (tokenHash, max, now) =>
        sql`UPDATE mfa_challenges SET tries = tries + 1
          WHERE token_hash = ${tokenHash} AND tries < ${max}::int AND expires_at > ${DateTime.toDateUtc(now)}
          RETURNING user_id`.pipe(
          Effect.flatMap(decodeUsers),
          Effect.map(([row]) => Option.fromNullable(row?.user_id)),
          Effect.orDie
        ),
      consume: (tokenHash) =>
        sql`DELETE FROM mfa_challenges WHERE token_hash = ${tokenHash} RETURNING user_id`.pipe(
          Effect.map((rows) => rows.length === 1),
          Effect.orDie
        ),
      purge: (now) => Effect.orDie(sql`DELETE FROM mfa_challenges WHERE expires_at <= ${DateTime.toDateUtc(now)}`)
    })
  })
)
