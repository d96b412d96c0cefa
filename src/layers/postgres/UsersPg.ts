import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { afterIdOf, pageById } from "../../schema/Page.ts"
import { Role } from "../../schema/Permission.ts"
import { User, UserId, Username } from "../../schema/User.ts"
import { isExpected, RevisionMismatch } from "../../services/Revision.ts"
import { LastAdmin, type NewUser, UserMissing, UsernameTaken, Users } from "../../services/Users.ts"
import { onUniqueViolation, Timestamp } from "./sql.ts"

/** A user as the columns hold it, without the password. */
export const UserRow = Schema.Struct({ ...User.fields, created_at: Timestamp })
export const userColumns = "id, username, role, disabled, created_at, revision"

const NewRow = UserRow.pipe(
  Schema.pick("username", "role", "created_at"),
  Schema.extend(Schema.Struct({ password_hash: Schema.Redacted(Schema.String) }))
)
const CredentialsRow = Schema.Struct({ ...UserRow.fields, password_hash: Schema.Redacted(Schema.String) })
const Changed = Schema.Struct({
  id: UserId,
  role: Schema.NullOr(Role),
  disabled: Schema.NullOr(Schema.Boolean),
  hash: Schema.NullOr(Schema.Redacted(Schema.String))
})
const decodeUsername = Schema.decodeOption(Username)

const newRow = ({ passwordHash, role, username }: NewUser) =>
  Effect.map(DateTime.now, (created_at) => ({ username, role, created_at, password_hash: passwordHash }))

export const UsersPg = Layer.effect(
  Users,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(userColumns)
    const named = (username: string) => sql`lower(username COLLATE "C") = lower(${username} COLLATE "C")`

    const insert = SqlSchema.single({
      Request: NewRow,
      Result: UserRow,
      execute: (row) => sql`INSERT INTO users ${sql.insert(row)} RETURNING ${columns}`
    })
    const insertFirst = SqlSchema.findOne({
      Request: NewRow,
      Result: UserRow,
      execute: (row) =>
        sql`INSERT INTO users (username, role, created_at, password_hash)
          SELECT ${row.username}, ${row.role}, ${row.created_at}::timestamptz, ${row.password_hash}
          WHERE NOT EXISTS (SELECT FROM users) RETURNING ${columns}`
    })
    const count = SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ total: Schema.Int }),
      execute: () => sql`SELECT count(*) AS total FROM users`
    })
    const selectAll = SqlSchema.findAll({
      Request: Schema.Void,
      Result: UserRow,
      execute: () => sql`SELECT ${columns} FROM users ORDER BY id`
    })
    const selectAfter = SqlSchema.findAll({
      Request: Schema.Struct({ after: Schema.Int, count: Schema.Int }),
      Result: UserRow,
      execute: ({ after, count }) => sql`SELECT ${columns} FROM users WHERE id > ${after} ORDER BY id LIMIT ${count}`
    })
    const selectById = SqlSchema.findOne({
      Request: UserId,
      Result: UserRow,
      execute: (id) => sql`SELECT ${columns} FROM users WHERE id = ${id}`
    })
    const selectCredentials = SqlSchema.findOne({
      Request: Username,
      Result: CredentialsRow,
      execute: (username) => sql`SELECT ${columns}, password_hash FROM users WHERE ${named(username)}`
    })
    const updatePassword = SqlSchema.findOne({
      Request: Schema.Struct({ username: Username, hash: Schema.Redacted(Schema.String) }),
      Result: UserRow,
      execute: ({ hash, username }) =>
        sql`UPDATE users SET password_hash = ${hash}, revision = revision + 1 WHERE ${
          named(username)
        } RETURNING ${columns}`
    })
    const update = SqlSchema.single({
      Request: Changed,
      Result: UserRow,
      execute: ({ disabled, hash, id, role }) =>
        sql`UPDATE users SET role = coalesce(${role}, role), disabled = coalesce(${disabled}::boolean, disabled),
          password_hash = coalesce(${hash}, password_hash), revision = revision + 1
          WHERE id = ${id} RETURNING ${columns}`
    })
    const countAdmins = SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ total: Schema.Int }),
      execute: () => sql`SELECT count(*) AS total FROM users WHERE role = 'admin' AND NOT disabled`
    })

    return Users.of({
      create: Effect.fn("Users.create")(function*(user) {
        const row = yield* insert(yield* newRow(user)).pipe(
          onUniqueViolation(() => new UsernameTaken({ username: user.username }))
        )
        return new User(row)
      }),
      createFirst: Effect.fn("Users.createFirst")(function*(user) {
        const row = yield* newRow(user)
        // The lock keeps out every other writer, so that nobody is inserted between the look and the insert.
        const created = yield* sql`LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE`.pipe(
          Effect.zipRight(insertFirst(row)),
          sql.withTransaction,
          Effect.orDie
        )
        return Option.map(created, (fields) => new User(fields))
      }),
      count: Effect.orDie(Effect.map(count(), ({ total }) => total)),
      list: Effect.orDie(Effect.map(selectAll(), (rows) => rows.map((row) => new User(row)))),
      page: Effect.fn("Users.page")(function*({ cursor, limit }) {
        const after = yield* afterIdOf(cursor)
        const rows = yield* Effect.orDie(selectAfter({ after, count: limit + 1 }))
        const { total } = yield* Effect.orDie(count())
        return pageById(rows.map((row) => new User(row)), limit, total)
      }),
      get: (id) => Effect.orDie(Effect.map(selectById(id), Option.map((row) => new User(row)))),
      findCredentials: Effect.fn("Users.findCredentials")(function*(text) {
        const username = decodeUsername(text)
        if (Option.isNone(username)) return Option.none()
        const found = yield* Effect.orDie(selectCredentials(username.value))
        return Option.map(found, ({ password_hash, ...row }) => ({ user: new User(row), passwordHash: password_hash }))
      }),
      setPassword: Effect.fn("Users.setPassword")(function*(username, hash) {
        const row = yield* Effect.orDie(updatePassword({ username, hash }))
        return Option.isSome(row) ? new User(row.value) : yield* new UserMissing({ user: username })
      }),
      change: Effect.fn("Users.change")(function*(id, { disabled, passwordHash, role }, expected) {
        const changed = { id, role: role ?? null, disabled: disabled ?? null, hash: passwordHash ?? null }
        // The lock keeps two administrators from disabling each other at once.
        return yield* sql`LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE`.pipe(
          Effect.zipRight(Effect.all([countAdmins(), selectById(id)])),
          Effect.flatMap(([before, found]) =>
            Effect.gen(function*() {
              if (Option.isNone(found)) return yield* new UserMissing({ user: id })
              const { revision } = found.value
              if (!isExpected(expected, revision)) return yield* new RevisionMismatch({ revision })
              const row = yield* update(changed)
              if (before.total > 0 && (yield* countAdmins()).total === 0) return yield* new LastAdmin()
              return new User(row)
            })
          ),
          sql.withTransaction,
          Effect.catchTags({ SqlError: Effect.die, ParseError: Effect.die, NoSuchElementException: Effect.die })
        )
      })
    })
  })
)
