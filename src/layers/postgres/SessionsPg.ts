import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { User, UserId } from "../../schema/User.ts"
import { Sessions } from "../../services/Sessions.ts"
import { Timestamp } from "./sql.ts"
import { UserRow } from "./UsersPg.ts"

const SessionRow = Schema.Struct({
  id: Schema.UUID,
  token_hash: Schema.String,
  user_id: UserId,
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp
})
const LiveRow = Schema.Struct({ ...UserRow.fields, session_id: Schema.UUID, last_seen_at: Timestamp })
const Use = Schema.Struct({ id: Schema.UUID, now: Timestamp })

/** Uses that follow one another sooner are not written down. */
const useResolution = Duration.minutes(1)

export const SessionsPg = Layer.effect(
  Sessions,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const insert = SqlSchema.void({
      Request: SessionRow,
      execute: (row) => sql`INSERT INTO sessions ${sql.insert(row)}`
    })
    const selectLive = SqlSchema.findOne({
      Request: Schema.Struct({ tokenHash: Schema.String, now: Timestamp, idleSince: Timestamp }),
      Result: LiveRow,
      execute: ({ idleSince, now, tokenHash }) =>
        sql`SELECT u.id, u.username, u.role, u.disabled, u.created_at, s.id AS session_id, s.last_seen_at
          FROM sessions s JOIN users u ON u.id = s.user_id
          WHERE s.token_hash = ${tokenHash} AND s.expires_at > ${now} AND s.last_seen_at > ${idleSince}
            AND NOT u.disabled`
    })
    const touch = SqlSchema.void({
      Request: Use,
      execute: ({ id, now }) =>
        sql`UPDATE sessions SET last_seen_at = ${now} WHERE id = ${id} AND last_seen_at < ${now}`
    })
    const deleteAll = SqlSchema.void({
      Request: UserId,
      execute: (userId) => sql`DELETE FROM sessions WHERE user_id = ${userId}`
    })

    return Sessions.of({
      create: (session) =>
        Effect.orDie(insert({
          id: session.id,
          token_hash: session.tokenHash,
          user_id: session.userId,
          created_at: session.createdAt,
          last_seen_at: session.createdAt,
          expires_at: session.expiresAt
        })),
      resolve: Effect.fnUntraced(function*(tokenHash, { idleSince, now }) {
        const live = yield* Effect.orDie(selectLive({ tokenHash, idleSince, now }))
        if (Option.isNone(live)) return Option.none()
        const { last_seen_at, session_id, ...user } = live.value
        if (Duration.greaterThanOrEqualTo(DateTime.distanceDuration(last_seen_at, now), useResolution)) {
          yield* Effect.orDie(touch({ id: session_id, now }))
        }
        return Option.some(new User(user))
      }),
      endAll: (userId) => Effect.orDie(deleteAll(userId))
    })
  })
)
