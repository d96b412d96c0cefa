import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE firewall_configs (
      id uuid PRIMARY KEY,
      name text NOT NULL CHECK (name <> ''),
      description text NOT NULL,
      version integer NOT NULL CHECK (version >= 1),
      checksum text NOT NULL,
      tables text[] NOT NULL,
      comment text NOT NULL,
      status text NOT NULL CHECK (status IN ('draft', 'active', 'pending_confirmation', 'inactive', 'failed')),
      is_deleted boolean NOT NULL,
      applied json NOT NULL,
      intent json,
      pending json,
      created_by integer NOT NULL REFERENCES users,
      updated_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      CONSTRAINT firewall_configs_pending CHECK ((status = 'pending_confirmation') = (pending IS NOT NULL)),
      CONSTRAINT firewall_configs_deleted CHECK (NOT (is_deleted AND status IN ('active', 'pending_confirmation')))
    )
  `
  yield* sql`CREATE INDEX firewall_configs_newest ON firewall_configs (created_at DESC, id DESC)`
  // json, not jsonb: the text stays as it was sent, and hundreds of thousands of elements cost nothing to keep.
  yield* sql`
    CREATE TABLE firewall_revisions (
      config_id uuid NOT NULL REFERENCES firewall_configs ON DELETE CASCADE,
      version integer NOT NULL CHECK (version >= 1),
      name text NOT NULL,
      description text NOT NULL,
      ruleset json NOT NULL,
      checksum text NOT NULL,
      comment text NOT NULL,
      created_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (config_id, version)
    )
  `
  yield* sql`
    CREATE TABLE firewall_tables (
      name text COLLATE "C" PRIMARY KEY,
      config_id uuid NOT NULL REFERENCES firewall_configs ON DELETE CASCADE
    )
  `
})
