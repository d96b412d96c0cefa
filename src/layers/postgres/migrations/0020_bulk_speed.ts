import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // How many blocks began at a time: the cap of an hour is read from few rows, whatever their number.
  yield* sql`CREATE TABLE blocks_begun (at timestamptz PRIMARY KEY, begun integer NOT NULL)`
  yield* sql`INSERT INTO blocks_begun SELECT created_at, count(*) FROM actions WHERE type = 'block' GROUP BY created_at`
  yield* sql`DROP INDEX actions_recent_blocks`
  // An item of an undo names the one that it undoes.
  yield* sql`ALTER TABLE bulk_job_items ADD COLUMN of_position integer`
  yield* sql`
    UPDATE bulk_job_items AS item SET of_position = was.position
    FROM bulk_jobs AS job, bulk_job_items AS was
    WHERE item.job_id = job.id AND was.job_id = job.undo_of AND was.action_id = item.action_id
      AND was.status = 'succeeded'
  `
})
