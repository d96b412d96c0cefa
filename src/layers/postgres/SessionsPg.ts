import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { type Session, SessionId } from "../../schema/Session.ts"
import { User, UserId } from "../../schema/User.ts"
import { type LiveSession, type Moment, Sessions } from "../../services/Sessions.ts"
import { gathered } from "./gathered.ts"
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
  user_agent: Schema.String,
  token_hash: Schema.String
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

const liveOf = (row: typeof LiveRow.Type): LiveSession => {
  const { address, expires_at, last_seen_at, session_id, signed_in_at, token_hash: _, user_agent, ...user } = row
  return {
    user: new User(user),
    session: sessionOf({
      id: session_id,
      created_at: signed_in_at,
      last_seen_at,
      expires_at,
      address,
      user_agent
    })
  }
}

interface Asked {
  readonly tokenHash: string
  readonly at: Moment
}

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
    // Uses that follow one another within a minute are not written down, nor those that another node is writing.
    const selectLive = SqlSchema.findAll({
      Request: Schema.Struct({ hashes: Schema.Array(Schema.String), ...At }),
      Result: LiveRow,
      execute: ({ hashes, idleSince, now }) =>
        sql`WITH live AS (
            SELECT u.id, u.username, u.role, u.disabled, u.created_at, u.revision, s.id AS session_id,
              s.created_at AS signed_in_at, s.last_seen_at, s.expires_at, s.address, s.user_agent, s.token_hash
            FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.token_hash = ANY (${hashes}::text[]) AND s.expires_at > ${now} AND s.last_seen_at > ${idleSince}
              AND NOT u.disabled
          ), stale AS (
            SELECT id FROM sessions
            WHERE id IN (SELECT session_id FROM live WHERE last_seen_at <= ${now}::timestamptz - interval '1 minute')
              AND last_seen_at < ${now}
            FOR UPDATE SKIP LOCKED
          ), used AS (
            UPDATE sessions SET last_seen_at = ${now} FROM stale WHERE sessions.id = stale.id
          )
          SELECT * FROM live`
    })
    const liveSessions = yield* gathered(Effect.fnUntraced(function*(asked: ReadonlyArray<Asked>) {
      const hashes = [...new Set(asked.map(({ tokenHash }) => tokenHash))]
      const latest = asked.map(({ at }) => at).reduce((a, b) => DateTime.greaterThan(b.now, a.now) ? b : a)
      const rows = new Map((yield* selectLive({ hashes, ...latest })).map((row) => [row.token_hash, liveOf(row)]))
      return asked.map(({ tokenHash }) => Option.fromNullable(rows.get(tokenHash)))
    }, Effect.orDie))
    const selectAlive = SqlSchema.findAll({
      Request: Schema.Struct({ ids: Schema.Array(SessionId), ...At }),
      Result: Schema.Struct({ id: SessionId }),
      execute: ({ idleSince, ids, now }) =>
        sql`SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id
          WHERE s.id = ANY (${ids}::uuid[]) AND s.expires_at > ${now} AND s.last_seen_at > ${idleSince}
            AND NOT u.disabled`
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
      resolve: (tokenHash, at) => liveSessions({ tokenHash, at }),
      alive: (ids, at) => Effect.orDie(Effect.map(selectAlive({ ids, ...at }), (rows) => rows.map(({ id }) => id))),
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
