import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { type ApiToken, ApiTokenId } from "../../schema/ApiToken.ts"
import { Cidr } from "../../schema/Ip.ts"
import { Permission } from "../../schema/Permission.ts"
import { User, UserId } from "../../schema/User.ts"
import { ApiTokens } from "../../services/ApiTokens.ts"
import { gathered } from "./gathered.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"
import { UserRow } from "./UsersPg.ts"

const fields = {
  name: Schema.String,
  scopes: Schema.Array(Permission),
  allowed_networks: Schema.Array(Schema.typeSchema(Cidr)),
  expires_at: Schema.NullOr(Timestamp),
  last_used_at: Schema.NullOr(Timestamp)
}
const TokenRow = Schema.Struct({ ...fields, id: ApiTokenId, created_at: Timestamp })
const NewRow = Schema.Struct({ ...TokenRow.fields, token_hash: Schema.String, user_id: UserId })
const LiveRow = Schema.Struct({
  ...UserRow.fields,
  ...fields,
  token_id: ApiTokenId,
  token_created_at: Timestamp,
  token_hash: Schema.String
})

const tokenOf = (row: typeof TokenRow.Type): ApiToken => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  allowedNetworks: row.allowed_networks,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at
})

const liveOf = (row: typeof LiveRow.Type) => {
  const { created_at, disabled, id, revision, role, token_created_at, token_id, username, ...token } = row
  return {
    user: new User({ id, username, role, disabled, created_at, revision }),
    token: tokenOf({ ...token, id: token_id, created_at: token_created_at })
  }
}

interface Asked {
  readonly tokenHash: string
  readonly now: DateTime.Utc
}

export const ApiTokensPg = Layer.effect(
  ApiTokens,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const page = yield* newestPage({
      table: "api_tokens",
      time: "created_at",
      row: TokenRow,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const insert = SqlSchema.void({
      Request: NewRow,
      execute: (row) => sql`INSERT INTO api_tokens ${sql.insert(row)}`
    })
    const selectOne = SqlSchema.findOne({
      Request: Schema.Struct({ id: ApiTokenId, userId: UserId }),
      Result: TokenRow,
      execute: ({ id, userId }) => sql`SELECT * FROM api_tokens WHERE id = ${id} AND user_id = ${userId}`
    })
    const selectLive = SqlSchema.findAll({
      Request: Schema.Struct({ hashes: Schema.Array(Schema.String), now: Timestamp }),
      Result: LiveRow,
      execute: ({ hashes, now }) =>
        sql`WITH live AS (
            SELECT u.id, u.username, u.role, u.disabled, u.created_at, u.revision, t.id AS token_id, t.token_hash,
              t.created_at AS token_created_at, t.name, t.scopes, t.allowed_networks, t.expires_at, t.last_used_at
            FROM api_tokens t JOIN users u ON u.id = t.user_id
            WHERE t.token_hash = ANY (${hashes}::text[]) AND (t.expires_at IS NULL OR t.expires_at > ${now})
              AND NOT u.disabled
          ), stale AS (
            SELECT id FROM api_tokens
            WHERE id IN (
              SELECT token_id FROM live
              WHERE last_used_at IS NULL OR last_used_at <= ${now}::timestamptz - interval '1 minute'
            )
            FOR UPDATE SKIP LOCKED
          ), used AS (
            UPDATE api_tokens SET last_used_at = ${now} FROM stale WHERE api_tokens.id = stale.id
          )
          SELECT * FROM live`
    })
    const liveTokens = yield* gathered(Effect.fnUntraced(function*(asked: ReadonlyArray<Asked>) {
      const hashes = [...new Set(asked.map(({ tokenHash }) => tokenHash))]
      const now = asked.map((one) => one.now).reduce((a, b) => DateTime.max(a, b))
      const rows = new Map((yield* selectLive({ hashes, now })).map((row) => [row.token_hash, liveOf(row)]))
      return asked.map(({ tokenHash }) => Option.fromNullable(rows.get(tokenHash)))
    }, Effect.orDie))

    const selectAlive = SqlSchema.findAll({
      Request: Schema.Struct({ ids: Schema.Array(ApiTokenId), now: Timestamp }),
      Result: Schema.Struct({ id: ApiTokenId }),
      execute: ({ ids, now }) =>
        sql`SELECT t.id FROM api_tokens t JOIN users u ON u.id = t.user_id
          WHERE t.id = ANY (${ids}::uuid[]) AND (t.expires_at IS NULL OR t.expires_at > ${now}) AND NOT u.disabled`
    })

    return ApiTokens.of({
      alive: (ids, now) => Effect.orDie(Effect.map(selectAlive({ ids, now }), (rows) => rows.map(({ id }) => id))),
      create: (token, userId, tokenHash) =>
        Effect.orDie(insert({
          id: token.id,
          token_hash: tokenHash,
          user_id: userId,
          name: token.name,
          scopes: token.scopes,
          allowed_networks: token.allowedNetworks,
          created_at: token.createdAt,
          expires_at: token.expiresAt,
          last_used_at: token.lastUsedAt
        })),
      resolve: (tokenHash, now) => liveTokens({ tokenHash, now }),
      list: (userId, request) =>
        Effect.map(page(sql`user_id = ${userId}`, request), (found) => ({ ...found, items: found.items.map(tokenOf) })),
      get: (id, userId) => Effect.orDie(Effect.map(selectOne({ id, userId }), Option.map(tokenOf))),
      remove: (id, userId) =>
        Effect.orDie(
          Effect.map(
            sql`DELETE FROM api_tokens WHERE id = ${id} AND user_id = ${userId} RETURNING id`,
            (rows) => rows.length === 1
          )
        )
    })
  })
)
