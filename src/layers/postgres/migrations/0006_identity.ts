import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    ALTER TABLE sessions
      ADD COLUMN address text NOT NULL DEFAULT '',
      ADD COLUMN user_agent text NOT NULL DEFAULT ''
  `
  yield* sql`
    CREATE TABLE api_tokens (
      id uuid PRIMARY KEY,
      token_hash text NOT NULL UNIQUE CHECK (token_hash <> ''),
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      name text NOT NULL,
      scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
      allowed_networks text[] NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz,
      last_used_at timestamptz
    )
  `
  yield* sql`CREATE INDEX api_tokens_newest ON api_tokens (user_id, created_at DESC, id DESC)`
  yield* sql`
    CREATE TABLE mfa_factors (
      user_id integer PRIMARY KEY REFERENCES users ON DELETE CASCADE,
      sealed_secret text NOT NULL,
      confirmed_at timestamptz,
      offered_at timestamptz NOT NULL,
      last_step bigint NOT NULL DEFAULT 0
    )
  `
  yield* sql`
    CREATE TABLE mfa_recovery_codes (
      user_id integer NOT NULL REFERENCES mfa_factors ON DELETE CASCADE,
      hash text NOT NULL,
      used_at timestamptz,
      PRIMARY KEY (user_id, hash)
    )
  `
  yield* sql`
    CREATE TABLE mfa_challenges (
      token_hash text PRIMARY KEY,
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      tries integer NOT NULL DEFAULT 0,
      expires_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX mfa_challenges_expiry ON mfa_challenges (expires_at)`
  yield* sql`
    CREATE TABLE sign_in_addresses (
      address text PRIMARY KEY,
      recent timestamptz[] NOT NULL,
      last_attempt_at timestamptz NOT NULL
    )
  `
  yield* sql`
    CREATE TABLE sign_in_accounts (
      account text PRIMARY KEY,
      failures integer NOT NULL CHECK (failures >= 0),
      last_attempt_at timestamptz NOT NULL
    )
  `
  // What a crash loses of a minute's counts is of no interest.
  yield* sql`
    CREATE UNLOGGED TABLE request_counts (
      token_id uuid NOT NULL,
      window_start timestamptz NOT NULL,
      requests bigint NOT NULL,
      PRIMARY KEY (token_id, window_start)
    )
  `
})
