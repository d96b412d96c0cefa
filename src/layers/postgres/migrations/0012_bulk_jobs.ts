import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE bulk_jobs (
      id uuid PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('apply', 'undo')),
      undo_of uuid UNIQUE REFERENCES bulk_jobs,
      status text NOT NULL CHECK (status IN ('scheduled', 'running', 'completed', 'partial', 'failed', 'cancelled')),
      action jsonb NOT NULL,
      criteria jsonb NOT NULL,
      criteria_hash text NOT NULL,
      reason text NOT NULL,
      total integer NOT NULL,
      processed integer NOT NULL DEFAULT 0 CHECK (processed BETWEEN 0 AND total),
      succeeded integer NOT NULL DEFAULT 0,
      skipped integer NOT NULL DEFAULT 0,
      failed integer NOT NULL DEFAULT 0,
      refused integer NOT NULL DEFAULT 0,
      error text NOT NULL DEFAULT '',
      created_by integer NOT NULL REFERENCES users,
      request_id text NOT NULL,
      scheduled_at timestamptz,
      created_at timestamptz NOT NULL,
      started_at timestamptz,
      finished_at timestamptz,
      CONSTRAINT bulk_jobs_sum CHECK (succeeded + skipped + failed = processed),
      CONSTRAINT bulk_jobs_ended CHECK ((status IN ('scheduled', 'running')) = (finished_at IS NULL)),
      CONSTRAINT bulk_jobs_undo CHECK ((kind = 'undo') = (undo_of IS NOT NULL))
    )
  `
  yield* sql`CREATE INDEX bulk_jobs_newest ON bulk_jobs (created_at DESC, id DESC)`
  yield* sql`CREATE INDEX bulk_jobs_open ON bulk_jobs (status) WHERE status IN ('scheduled', 'running')`
  yield* sql`
    CREATE TABLE bulk_job_items (
      job_id uuid NOT NULL REFERENCES bulk_jobs ON DELETE CASCADE,
      position integer NOT NULL,
      client text COLLATE "C" NOT NULL,
      client_mac text,
      status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'skipped', 'failed')),
      detail text NOT NULL DEFAULT '',
      action_id uuid,
      before_expires_at timestamptz,
      after_expires_at timestamptz,
      PRIMARY KEY (job_id, position)
    )
  `
  yield* sql`
    CREATE FUNCTION notify_bulk_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('bulk_jobs', '');
      RETURN NULL;
    END $$
  `
  yield* sql`
    CREATE TRIGGER bulk_jobs_made AFTER INSERT ON bulk_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION notify_bulk_jobs()
  `
})
