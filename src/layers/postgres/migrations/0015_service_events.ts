import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE service_events (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
      id uuid NOT NULL UNIQUE,
      type text NOT NULL,
      severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
      time timestamptz NOT NULL,
      event jsonb NOT NULL CHECK (jsonb_typeof(event) = 'object')
    )
  `
  yield* sql`CREATE INDEX service_events_order ON service_events (xid, seq)`
  yield* sql`CREATE INDEX service_events_newest ON service_events (time DESC, id DESC)`
})
