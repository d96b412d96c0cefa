import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE automation_rules (
      id uuid PRIMARY KEY,
      draft jsonb NOT NULL CHECK (jsonb_typeof(draft) = 'object'),
      name text NOT NULL GENERATED ALWAYS AS (draft ->> 'name') STORED,
      enabled boolean NOT NULL GENERATED ALWAYS AS ((draft -> 'enabled')::boolean) STORED,
      revision integer NOT NULL CHECK (revision >= 1),
      created_by integer NOT NULL REFERENCES users,
      updated_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX automation_rules_newest ON automation_rules (created_at DESC, id DESC)`
  yield* sql`
    CREATE TABLE automation_runs (
      id uuid PRIMARY KEY,
      rule_id uuid NOT NULL CONSTRAINT automation_runs_rule REFERENCES automation_rules ON DELETE CASCADE,
      trigger text NOT NULL CHECK (trigger IN ('manual', 'schedule', 'backfill')),
      mode text NOT NULL CHECK (mode IN ('simulate', 'enforce')),
      dry_run boolean NOT NULL,
      status text NOT NULL CHECK (status IN ('success', 'warning', 'failed', 'skipped', 'simulated')),
      window_start timestamptz NOT NULL,
      window_end timestamptz NOT NULL CHECK (window_end >= window_start),
      macs_detected integer NOT NULL CHECK (macs_detected >= 0),
      actions_triggered integer NOT NULL CHECK (actions_triggered >= 0),
      query text NOT NULL,
      query_params jsonb NOT NULL CHECK (jsonb_typeof(query_params) = 'object'),
      execution_time_ms integer NOT NULL CHECK (execution_time_ms >= 0),
      error text NOT NULL,
      reason text NOT NULL,
      user_id integer REFERENCES users ON DELETE SET NULL,
      request_id text NOT NULL,
      started_at timestamptz NOT NULL,
      finished_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX automation_runs_newest ON automation_runs (rule_id, started_at DESC, id DESC)`
  yield* sql`
    CREATE TABLE automation_cooldowns (
      rule_id uuid NOT NULL REFERENCES automation_rules ON DELETE CASCADE,
      client text COLLATE "C" NOT NULL CHECK (client <> ''),
      until timestamptz NOT NULL,
      run_id uuid NOT NULL,
      PRIMARY KEY (rule_id, client)
    )
  `
  yield* sql`CREATE INDEX automation_cooldowns_until ON automation_cooldowns (rule_id, until)`
})
