import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE automation_alarms ALTER COLUMN rule_id DROP NOT NULL, ALTER COLUMN protocol DROP NOT NULL`
  yield* sql`ALTER TABLE automation_alarms ADD COLUMN kind text NOT NULL DEFAULT 'detection'`
  yield* sql`
    ALTER TABLE automation_alarms ADD CONSTRAINT automation_alarms_kind CHECK (
      CASE kind
        WHEN 'detection' THEN rule_id IS NOT NULL AND protocol IS NOT NULL
        WHEN 'disk' THEN rule_id IS NULL
        ELSE false
      END
    )
  `
  yield* sql`
    CREATE UNIQUE INDEX automation_alarms_condition ON automation_alarms (kind, client)
      WHERE rule_id IS NULL AND status <> 'resolved'
  `
})
