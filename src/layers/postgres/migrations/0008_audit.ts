import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // No reference to users: what a user did outlives the user.
  yield* sql`
    CREATE TABLE audit_entries (
      id uuid PRIMARY KEY,
      at timestamptz NOT NULL,
      operation text NOT NULL,
      outcome text NOT NULL CHECK (outcome IN ('begun', 'success', 'failure')),
      status integer,
      user_id integer,
      username text,
      target text,
      address text,
      request_id text NOT NULL,
      reason text,
      request jsonb,
      before jsonb,
      after jsonb
    )
  `
  yield* sql`CREATE INDEX audit_entries_newest ON audit_entries (at DESC, id DESC)`
  yield* sql`CREATE INDEX audit_entries_target ON audit_entries (target, at DESC)`
  yield* sql`CREATE INDEX audit_entries_request ON audit_entries (request_id)`
  yield* sql`
    CREATE TABLE audit_batches (
      number integer PRIMARY KEY CHECK (number >= 1),
      previous_hash text NOT NULL,
      hash text NOT NULL,
      entry_ids uuid[] NOT NULL,
      entry_hashes text[] NOT NULL,
      sealed_at timestamptz NOT NULL DEFAULT now()
    )
  `
  // Entries are sealed in whatever order they are committed, so what is open is a list and not a position.
  yield* sql`CREATE TABLE audit_unsealed (id uuid PRIMARY KEY)`
  yield* sql`
    CREATE FUNCTION audit_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO audit_unsealed VALUES (NEW.id);
      RETURN NULL;
    END $$
  `
  yield* sql`
    CREATE FUNCTION audit_refused() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END $$
  `
  yield* sql`
    CREATE TRIGGER audit_recorded AFTER INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION audit_recorded()
  `
  for (const table of ["audit_entries", "audit_batches"]) {
    yield* sql`
      CREATE TRIGGER ${sql(`${table}_append_only`)} BEFORE UPDATE OR DELETE OR TRUNCATE ON ${sql(table)}
        FOR EACH STATEMENT EXECUTE FUNCTION audit_refused()
    `
  }
})
