import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { type Session, SessionId } from "../../schema/Session.ts"
import { User, UserId } from "../../schema/User.ts"
import { Sessions } from "../../services/Sessions.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"
import { UserRow } from "./UsersPg.ts"

const SessionRow = Schema.Struct({
  id: SessionId,
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
  address: Schema.String,
  user_agent: Schema.String
})
const NewRow = Schema.Struct({ ...SessionRow.fields, token_hash: Schema.String, user_id: UserId })
const LiveRow = Schema.Struct({
  ...UserRow.fields,
  session_id: SessionId,
  signed_in_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
  address: Schema.String,
  user_agent: Schema.String
})
const At = { now: Timestamp, idleSince: Timestamp }

const sessionOf = (row: typeof SessionRow.Type): Session => ({
  id: row.id,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
  expiresAt: row.expires_at,
  address: row.address,
  userAgent: row.user_agent
})

export const SessionsPg = Layer.effect(
  Sessions,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const page = yield* newestPage({
      table: "sessions",
      time: "created_at",
      row: SessionRow,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const insert = SqlSchema.void({
      Request: NewRow,
      execute: (row) => sql`INSERT INTO sessions ${sql.insert(row)}`
    })
    // Uses that follow one another within a minute are not written down.
    const selectLive = SqlSchema.findOne({
      Request: Schema.Struct({ tokenHash: Schema.String, ...At }),
      Result: LiveRow,
      execute: ({ idleSince, now, tokenHash }) =>
        sql`WITH live AS (
            SELECT u.id, u.username, u.role, u.disabled, u.created_at, u.revision, s.id AS session_id,
              s.created_at AS signed_in_at, s.last_seen_at, s.expires_at, s.address, s.user_agent
            FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.token_hash = ${tokenHash} AND s.expires_at > ${now} AND s.last_seen_at > ${idleSince}
              AND NOT u.disabled
          ), used AS (
            UPDATE sessions SET last_seen_at = ${now} FROM live
            WHERE sessions.id = session_id AND live.last_seen_at <= ${now}::timestamptz - interval '1 minute'
              AND sessions.last_seen_at < ${now}
          )
          SELECT * FROM live`
    })
    const renew = SqlSchema.findAll({
      Request: Schema.Struct({ tokenHash: Schema.String, next: Schema.String, expiresAt: Timestamp, ...At }),
      Result: Schema.Struct({ id: SessionId }),
      execute: ({ expiresAt, idleSince, next, now, tokenHash }) =>
        sql`UPDATE sessions SET token_hash = ${next}, expires_at = ${expiresAt},
            last_seen_at = greatest(last_seen_at, ${now})
          WHERE token_hash = ${tokenHash} AND expires_at > ${now} AND last_seen_at > ${idleSince} RETURNING id`
    })
    const timestamp = Schema.encodeSync(Timestamp)

    return Sessions.of({
      create: (session) =>
        Effect.orDie(insert({
          id: session.id,
          token_hash: session.tokenHash,
          user_id: session.userId,
          created_at: session.createdAt,
          last_seen_at: session.createdAt,
          expires_at: session.expiresAt,
          address: session.address,
          user_agent: session.userAgent
        })),
      resolve: (tokenHash, at) =>
        selectLive({ tokenHash, ...at }).pipe(
          Effect.orDie,
          Effect.map(
            Option.map(({ address, expires_at, last_seen_at, session_id, signed_in_at, user_agent, ...user }) => ({
              user: new User(user),
              session: sessionOf({
                id: session_id,
                created_at: signed_in_at,
                last_seen_at,
                expires_at,
                address,
                user_agent
              })
            }))
          )
        ),
      renew: (tokenHash, next, at) =>
        renew({ tokenHash, next: next.tokenHash, expiresAt: next.expiresAt, ...at }).pipe(
          Effect.orDie,
          Effect.map((rows) => rows.length === 1)
        ),
      list: (userId, { idleSince, now }, request) =>
        Effect.map(
          page(
            sql`user_id = ${userId} AND expires_at > ${timestamp(now)} AND last_seen_at > ${timestamp(idleSince)}`,
            request
          ),
          (found) => ({ ...found, items: found.items.map(sessionOf) })
        ),
      end: (id, userId) =>
        Effect.orDie(
          Effect.map(
            sql`DELETE FROM sessions WHERE id = ${id} AND user_id = ${userId} RETURNING id`,
            (rows) => rows.length === 1
          )
        ),
      endOthers: (userId, kept) => Effect.orDie(sql`DELETE FROM sessions WHERE user_id = ${userId} AND id <> ${kept}`),
      endAll: (userId) => Effect.orDie(sql`DELETE FROM sessions WHERE user_id = ${userId}`),
      purge: ({ idleSince, now }) =>
        Effect.orDie(
          sql`DELETE FROM sessions WHERE expires_at <= ${timestamp(now)} OR last_seen_at <= ${timestamp(idleSince)}`
        )
    })
  })
)
