import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE users ADD COLUMN revision integer NOT NULL DEFAULT 1 CHECK (revision >= 1)`
  yield* sql`ALTER TABLE firewall_configs ADD COLUMN edition integer NOT NULL DEFAULT 1 CHECK (edition >= 1)`
})
