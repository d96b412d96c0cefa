import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

// By triggers, because jobs and actions change in bulk and in many statements: none of them can leave its event out.
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE FUNCTION publish_service_event(type text, subject text, severity text, data jsonb) RETURNS void
    LANGUAGE sql AS $$
      INSERT INTO service_events (id, type, severity, time, event)
      SELECT made.id, $1, $3, made.at, jsonb_build_object('specversion', '1.0', 'id', made.id, 'source', '/netops',
        'type', $1, 'subject', $2, 'time', to_char(made.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'datacontenttype', 'application/json', 'severity', $3, 'data', $4)
      FROM (SELECT gen_random_uuid() AS id, clock_timestamp() AS at) AS made
    $$
  `
  yield* sql`
    CREATE FUNCTION bulk_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM publish_service_event(
        'bulk.job.' || CASE NEW.status WHEN 'running' THEN 'started' ELSE NEW.status END,
        'job/' || NEW.id,
        CASE NEW.status WHEN 'failed' THEN 'critical' WHEN 'partial' THEN 'warning' ELSE 'info' END,
        jsonb_build_object('job_id', NEW.id, 'action', NEW.action ->> 'type', 'status', NEW.status,
          'total', NEW.total, 'processed', NEW.processed, 'succeeded', NEW.succeeded, 'skipped', NEW.skipped,
          'failed', NEW.failed)
      );
      RETURN NULL;
    END $$
  `
  yield* sql`
    CREATE TRIGGER bulk_jobs_made_event AFTER INSERT ON bulk_jobs FOR EACH ROW EXECUTE FUNCTION bulk_job_event()
  `
  yield* sql`
    CREATE TRIGGER bulk_jobs_turned_event AFTER UPDATE ON bulk_jobs FOR EACH ROW
      WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION bulk_job_event()
  `
  yield* sql`
    CREATE FUNCTION action_expired_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM publish_service_event('action.expired', 'action/' || NEW.id, 'info',
        jsonb_build_object('action_id', NEW.id, 'action', NEW.type, 'client', NEW.client));
      RETURN NULL;
    END $$
  `
  yield* sql`
    CREATE TRIGGER actions_expired_event AFTER UPDATE ON actions FOR EACH ROW
      WHEN (OLD.status <> 'expired' AND NEW.status = 'expired') EXECUTE FUNCTION action_expired_event()
  `
})
