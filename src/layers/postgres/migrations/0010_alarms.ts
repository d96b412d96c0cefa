import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE automation_alarms (
      id uuid PRIMARY KEY,
      rule_id uuid NOT NULL,
      rule_name text NOT NULL,
      client text COLLATE "C" NOT NULL CHECK (client <> ''),
      protocol text NOT NULL CHECK (protocol IN ('dhcpv4', 'dhcpv6')),
      severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
      status text NOT NULL CHECK (status IN ('firing', 'acknowledged', 'resolved')),
      present boolean NOT NULL,
      total_requests bigint NOT NULL CHECK (total_requests >= 0),
      unique_ips bigint NOT NULL CHECK (unique_ips >= 0),
      count integer NOT NULL CHECK (count >= 1),
      flaps integer NOT NULL CHECK (flaps >= 0),
      opened_at timestamptz NOT NULL,
      last_seen_at timestamptz NOT NULL,
      acknowledged_at timestamptz,
      acknowledged_by integer REFERENCES users ON DELETE SET NULL,
      comment text NOT NULL,
      resolved_at timestamptz,
      resolved_by integer REFERENCES users ON DELETE SET NULL,
      CONSTRAINT automation_alarms_over CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
    )
  `
  yield* sql`CREATE UNIQUE INDEX automation_alarms_open ON automation_alarms (rule_id, client) WHERE status <> 'resolved'`
  yield* sql`CREATE INDEX automation_alarms_newest ON automation_alarms (opened_at DESC, id DESC)`
  yield* sql`CREATE INDEX automation_alarms_resolved ON automation_alarms (rule_id, resolved_at)`
  yield* sql`CREATE SEQUENCE alarm_transition_batches AS bigint`
  yield* sql`
    CREATE TABLE alarm_transition_outbox (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      batch bigint,
      transition jsonb NOT NULL CHECK (jsonb_typeof(transition) = 'object')
    )
  `
  yield* sql`CREATE INDEX alarm_transition_outbox_batch ON alarm_transition_outbox (batch) WHERE batch IS NOT NULL`
})
