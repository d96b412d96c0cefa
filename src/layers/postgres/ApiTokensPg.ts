import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { type ApiToken, ApiTokenId } from "../../schema/ApiToken.ts"
import { Cidr } from "../../schema/Ip.ts"
import { Permission } from "../../schema/Permission.ts"
import { User, UserId } from "../../schema/User.ts"
import { ApiTokens } from "../../services/ApiTokens.ts"
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
const LiveRow = Schema.Struct({ ...UserRow.fields, ...fields, token_id: ApiTokenId, token_created_at: Timestamp })

const tokenOf = (row: typeof TokenRow.Type): ApiToken => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  allowedNetworks: row.allowed_networks,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at
})

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
    const selectLive = SqlSchema.findOne({
      Request: Schema.Struct({ tokenHash: Schema.String, now: Timestamp }),
      Result: LiveRow,
      execute: ({ now, tokenHash }) =>
        sql`WITH live AS (
            SELECT u.id, u.username, u.role, u.disabled, u.created_at, u.revision, t.id AS token_id,
              t.created_at AS token_created_at, t.name, t.scopes, t.allowed_networks, t.expires_at, t.last_used_at
            FROM api_tokens t JOIN users u ON u.id = t.user_id
            WHERE t.token_hash = ${tokenHash} AND (t.expires_at IS NULL OR t.expires_at > ${now}) AND NOT u.disabled
          ), used AS (
            UPDATE api_tokens SET last_used_at = ${now} FROM live
            WHERE api_tokens.id = token_id
              AND (live.last_used_at IS NULL OR live.last_used_at <= ${now}::timestamptz - interval '1 minute')
          )
          SELECT * FROM live`
    })

    return ApiTokens.of({
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
      resolve: (tokenHash, now) =>
        selectLive({ tokenHash, now }).pipe(
          Effect.orDie,
          Effect.map(
            Option.map((
              {
                allowed_networks,
                created_at,
                disabled,
                id,
                revision,
                role,
                token_created_at,
                token_id,
                username,
                ...token
              }
            ) => ({
              user: new User({ id, username, role, disabled, created_at, revision }),
              token: tokenOf({ ...token, allowed_networks, id: token_id, created_at: token_created_at })
            }))
          )
        ),
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
