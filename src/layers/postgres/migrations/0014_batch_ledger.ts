import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE dhcp_batches (
      number bigint PRIMARY KEY,
      place bigint NOT NULL UNIQUE,
      state text NOT NULL CHECK (state IN ('open', 'late', 'stored', 'void')),
      events integer NOT NULL CHECK (events > 0),
      first_at timestamptz NOT NULL,
      last_at timestamptz NOT NULL,
      opened_at timestamptz NOT NULL,
      lease_until timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX dhcp_batches_open ON dhcp_batches (place) WHERE state = 'open'`
  yield* sql`CREATE INDEX dhcp_batches_late ON dhcp_batches (opened_at) WHERE state = 'late'`
  yield* sql`CREATE INDEX dhcp_batches_opened ON dhcp_batches (opened_at)`
  // Batches up to this place are forgotten; those from before the ledger were never in it.
  yield* sql`CREATE TABLE dhcp_batch_horizon (one boolean PRIMARY KEY CHECK (one), place bigint NOT NULL)`
  yield* sql`
    INSERT INTO dhcp_batch_horizon
    SELECT true, CASE WHEN is_called THEN last_value ELSE 0 END FROM dhcp_batch_numbers
  `
})
