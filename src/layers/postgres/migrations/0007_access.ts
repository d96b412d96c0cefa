import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE ip_restrictions (
      id uuid PRIMARY KEY,
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      type text NOT NULL CHECK (type IN ('allow', 'deny')),
      network text NOT NULL CHECK (network::cidr IS NOT NULL),
      description text NOT NULL,
      enabled boolean NOT NULL,
      priority integer NOT NULL,
      expires_at timestamptz,
      created_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      revision integer NOT NULL CHECK (revision >= 1),
      last_matched_at timestamptz,
      match_count bigint NOT NULL DEFAULT 0 CHECK (match_count >= 0)
    )
  `
  yield* sql`CREATE INDEX ip_restrictions_user ON ip_restrictions (user_id)`
  yield* sql`CREATE TABLE ip_restrictions_revision (one boolean PRIMARY KEY CHECK (one), revision bigint NOT NULL)`
  yield* sql`INSERT INTO ip_restrictions_revision VALUES (true, 1)`
  yield* sql`
    CREATE FUNCTION ip_restrictions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE ip_restrictions_revision SET revision = revision + 1;
      RETURN NULL;
    END $$
  `
  // Matches are counted in columns that are not named here, so that counting is no change.
  yield* sql`
    CREATE TRIGGER ip_restrictions_changed AFTER INSERT OR DELETE
      OR UPDATE OF user_id, type, network, enabled, priority, expires_at ON ip_restrictions
      FOR EACH STATEMENT EXECUTE FUNCTION ip_restrictions_changed()
  `
  yield* sql`
    CREATE TABLE user_settings (
      user_id integer PRIMARY KEY REFERENCES users ON DELETE CASCADE,
      settings jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
      revision integer NOT NULL CHECK (revision >= 0)
    )
  `
  yield* sql`
    CREATE TABLE feedback (
      id uuid PRIMARY KEY,
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      draft jsonb NOT NULL CHECK (jsonb_typeof(draft) = 'object'),
      status text NOT NULL CHECK (status = 'received'),
      created_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX feedback_newest ON feedback (created_at DESC, id DESC)`
  yield* sql`CREATE INDEX feedback_user ON feedback (user_id, created_at)`
  yield* sql`
    CREATE TABLE idempotency_keys (
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      method text NOT NULL,
      path text NOT NULL,
      key text NOT NULL,
      claim_id uuid NOT NULL,
      fingerprint text NOT NULL,
      answer jsonb,
      lease_until timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (user_id, method, path, key)
    )
  `
  yield* sql`CREATE INDEX idempotency_keys_expires ON idempotency_keys (expires_at)`
})
