import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE notification_rules (
      id uuid PRIMARY KEY,
      draft jsonb NOT NULL CHECK (jsonb_typeof(draft) = 'object'),
      revision integer NOT NULL CHECK (revision >= 1),
      created_by integer NOT NULL REFERENCES users,
      updated_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX notification_rules_newest ON notification_rules (created_at DESC, id DESC)`
  yield* sql`
    CREATE TABLE notification_silences (
      id uuid PRIMARY KEY,
      matchers jsonb NOT NULL CHECK (jsonb_typeof(matchers) = 'object'),
      comment text NOT NULL,
      starts_at timestamptz NOT NULL,
      ends_at timestamptz NOT NULL CHECK (ends_at >= starts_at),
      created_by integer NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX notification_silences_newest ON notification_silences (created_at DESC, id DESC)`
  yield* sql`CREATE INDEX notification_silences_ends ON notification_silences (ends_at)`
  yield* sql`CREATE TABLE notification_cursor (one boolean PRIMARY KEY CHECK (one), position text)`
  yield* sql`INSERT INTO notification_cursor VALUES (true, NULL)`
  yield* sql`
    CREATE TABLE notification_groups (
      rule_id uuid NOT NULL REFERENCES notification_rules ON DELETE CASCADE,
      key text COLLATE "C" NOT NULL,
      due_at timestamptz NOT NULL,
      alerts text[] NOT NULL,
      state jsonb NOT NULL CHECK (jsonb_typeof(state) = 'object'),
      PRIMARY KEY (rule_id, key)
    )
  `
  yield* sql`CREATE INDEX notification_groups_due ON notification_groups (due_at)`
  yield* sql`CREATE INDEX notification_groups_alerts ON notification_groups USING gin (alerts)`
  yield* sql`
    CREATE TABLE notification_deliveries (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id uuid NOT NULL UNIQUE,
      rule_id uuid NOT NULL,
      group_key text COLLATE "C" NOT NULL,
      status text NOT NULL CHECK (status IN ('pending', 'delivered', 'dead', 'dropped')),
      reason text NOT NULL CHECK (reason IN ('new', 'repeat')),
      event jsonb NOT NULL,
      notification jsonb NOT NULL,
      attempts integer NOT NULL CHECK (attempts >= 0),
      last_error text NOT NULL,
      created_at timestamptz NOT NULL,
      next_attempt_at timestamptz NOT NULL,
      delivered_at timestamptz,
      CONSTRAINT notification_deliveries_done CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
    )
  `
  yield* sql`CREATE INDEX notification_deliveries_newest ON notification_deliveries (created_at DESC, id DESC)`
  yield* sql`CREATE INDEX notification_deliveries_queue ON notification_deliveries (seq) WHERE status = 'pending'`
  yield* sql`
    CREATE INDEX notification_deliveries_waiting ON notification_deliveries (next_attempt_at, rule_id, group_key)
      WHERE status = 'pending'
  `
  yield* sql`
    CREATE TABLE log_pipeline_revisions (
      revision integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      settings jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
      sealed_secrets text NOT NULL,
      applied_by integer NOT NULL REFERENCES users,
      applied_at timestamptz NOT NULL
    )
  `
  yield* sql`
    CREATE TABLE log_pipeline_status (
      one boolean PRIMARY KEY CHECK (one),
      last_error jsonb
    )
  `
  yield* sql`INSERT INTO log_pipeline_status VALUES (true, NULL)`
})
