import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE protected_macs (
      mac text COLLATE "C" PRIMARY KEY CHECK (mac ~ '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$'),
      comment text NOT NULL,
      created_by integer REFERENCES users ON DELETE SET NULL,
      created_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX actions_unsynced ON actions (client_mac) WHERE synced_at IS NULL AND type <> 'tag'`
  yield* sql`CREATE INDEX actions_due ON actions (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL`
  yield* sql`CREATE INDEX actions_recent_blocks ON actions (created_at) WHERE type = 'block'`
  yield* sql`
    CREATE FUNCTION notify_enforcement() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('enforcement', TG_ARGV[0]);
      RETURN NULL;
    END $$
  `
  yield* sql`
    CREATE TRIGGER actions_changed AFTER INSERT OR DELETE OR UPDATE OF status, expires_at ON actions
    FOR EACH STATEMENT EXECUTE FUNCTION notify_enforcement('actions')
  `
  yield* sql`
    CREATE TRIGGER protected_macs_changed AFTER INSERT OR DELETE OR UPDATE ON protected_macs
    FOR EACH STATEMENT EXECUTE FUNCTION notify_enforcement('all')
  `
})
