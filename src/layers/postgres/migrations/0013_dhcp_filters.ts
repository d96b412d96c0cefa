import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE dhcp_filters (
      id uuid PRIMARY KEY,
      user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
      name text NOT NULL,
      rules jsonb NOT NULL CHECK (jsonb_typeof(rules) = 'object'),
      revision integer NOT NULL CHECK (revision >= 1),
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )
  `
  yield* sql`CREATE INDEX dhcp_filters_user ON dhcp_filters (user_id, created_at DESC, id DESC)`
})
