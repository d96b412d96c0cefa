import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // Changes of actions are numbered in the order of their commits, so that one row tells how far the packet filter is:
  // to write that into each action took twice as long as to order it.
  yield* sql`CREATE SEQUENCE action_changes`
  yield* sql`ALTER TABLE actions ADD COLUMN change bigint NOT NULL DEFAULT 0`
  yield* sql`UPDATE actions SET change = (SELECT nextval('action_changes')) WHERE synced_at IS NULL`
  yield* sql`ALTER TABLE actions ALTER COLUMN change SET DEFAULT nextval('action_changes')`
  yield* sql`DROP INDEX actions_unsynced`
  yield* sql`CREATE INDEX actions_change ON actions (change)`
  // What is newer comes last, where an index is cheapest to extend.
  yield* sql`DROP INDEX actions_newest`
  yield* sql`CREATE INDEX actions_newest ON actions (created_at, id)`
  yield* sql`
    CREATE TABLE enforcement_marks (
      change bigint PRIMARY KEY,
      at timestamptz NOT NULL,
      families text[] NOT NULL CHECK (families <@ '{inet,bridge}')
    )
  `
  yield* sql`INSERT INTO enforcement_marks VALUES (0, now(), '{inet}')`
  // A new table has no statistics, and a scan of all actions at every pass is what this is to avoid.
  yield* sql`
    CREATE FUNCTION actions_behind(OUT macs text, OUT change bigint) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
      SELECT coalesce(string_agg(client_mac, ',' ORDER BY client_mac)
          FILTER (WHERE synced_at IS NULL AND type <> 'tag'), ''), coalesce(max(actions.change), 0)
      FROM actions WHERE actions.change > (SELECT max(enforcement_marks.change) FROM enforcement_marks)
    $$
  `
  yield* sql`
    CREATE VIEW actions_seen AS
    SELECT id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, created_at, expires_at, ended_at,
      coalesce(synced_at, CASE WHEN type <> 'tag' THEN (
        SELECT at FROM enforcement_marks AS mark WHERE mark.change >= actions.change ORDER BY mark.change LIMIT 1
      ) END) AS synced_at,
      coalesce(CASE WHEN status = 'active' AND type IN ('block', 'quarantine') THEN (
        SELECT families FROM enforcement_marks AS mark WHERE mark.change >= actions.change ORDER BY mark.change LIMIT 1
      ) END, '{}') AS enforced_at
    FROM actions
  `
})
