import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE users (
      id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      username text NOT NULL CHECK (username ~ '^[A-Za-z0-9._@-]{1,64}$'),
      role text NOT NULL CHECK (role IN ('admin', 'operator', 'viewer', 'auditor')),
      password_hash text NOT NULL CHECK (password_hash <> ''),
      disabled boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL
    )
  `
  // By the letters of ASCII alone: a database may have a locale in which I and i are no pair.
  yield* sql`CREATE UNIQUE INDEX users_username ON users (lower(username COLLATE "C"))`
  yield* sql`
    CREATE TABLE sessions (
      id uuid PRIMARY KEY,
      token_hash text NOT NULL UNIQUE CHECK (token_hash <> ''),
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      created_at timestamptz NOT NULL,
      last_seen_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
    )
  `
  yield* sql`CREATE INDEX sessions_user_id ON sessions (user_id)`
})
