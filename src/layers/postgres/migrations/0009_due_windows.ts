import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE automation_runs ADD COLUMN due_at timestamptz`
  yield* sql`
    CREATE TABLE automation_spans (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      rule_id uuid NOT NULL REFERENCES automation_rules ON DELETE CASCADE,
      schedule jsonb NOT NULL CHECK (jsonb_typeof(schedule) = 'object'),
      since timestamptz NOT NULL,
      until timestamptz CHECK (until >= since),
      settled timestamptz NOT NULL
    )
  `
  yield* sql`CREATE UNIQUE INDEX automation_spans_open ON automation_spans (rule_id) WHERE until IS NULL`
  yield* sql`CREATE INDEX automation_spans_rule ON automation_spans (rule_id)`
  yield* sql`
    INSERT INTO automation_spans (rule_id, schedule, since, settled)
    SELECT id, draft -> 'schedule', now(), now() FROM automation_rules
    WHERE enabled AND draft -> 'schedule' ->> 'type' <> 'manual'
  `
  yield* sql`
    CREATE TABLE automation_due_windows (
      rule_id uuid NOT NULL REFERENCES automation_rules ON DELETE CASCADE,
      due_at timestamptz NOT NULL,
      id uuid NOT NULL DEFAULT gen_random_uuid(),
      through timestamptz CHECK (through >= due_at),
      verdict text NOT NULL CHECK (verdict IN ('running', 'run', 'skipped', 'failed', 'missed')),
      run_id uuid,
      owner text,
      lease_until timestamptz,
      reason text NOT NULL DEFAULT '',
      PRIMARY KEY (rule_id, due_at),
      CONSTRAINT automation_due_windows_claim
        CHECK ((verdict = 'running') = (owner IS NOT NULL) AND (verdict <> 'running' OR run_id IS NOT NULL)),
      CONSTRAINT automation_due_windows_lease CHECK ((owner IS NULL) = (lease_until IS NULL))
    )
  `
  yield* sql`CREATE INDEX automation_due_windows_newest ON automation_due_windows (rule_id, due_at DESC, id DESC)`
  yield* sql`CREATE INDEX automation_due_windows_running ON automation_due_windows (run_id) WHERE verdict = 'running'`
  yield* sql`
    CREATE TABLE automation_takes (
      rule_id uuid NOT NULL REFERENCES automation_rules ON DELETE CASCADE,
      client text COLLATE "C" NOT NULL,
      seen_at timestamptz NOT NULL,
      run_id uuid NOT NULL
    )
  `
  yield* sql`CREATE INDEX automation_takes_client ON automation_takes (rule_id, client, seen_at)`
  yield* sql`
    CREATE TABLE automation_scheduler (
      sole boolean PRIMARY KEY DEFAULT true CHECK (sole),
      node text NOT NULL,
      at timestamptz NOT NULL,
      lag_ms integer NOT NULL CHECK (lag_ms >= 0)
    )
  `
})
