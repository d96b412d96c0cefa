import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // Many clients a row: a row of its own for each costs more than what is done with it, and twice when it is updated.
  yield* sql`
    CREATE TABLE bulk_job_clients (
      job_id uuid NOT NULL REFERENCES bulk_jobs ON DELETE CASCADE,
      first integer NOT NULL,
      count integer NOT NULL CHECK (count > 0),
      clients text[] NOT NULL,
      -- of an undo: what it takes back
      action_ids uuid[],
      created boolean[],
      before_expires_at timestamptz[],
      after_expires_at timestamptz[],
      PRIMARY KEY (job_id, first),
      CHECK (cardinality(clients) = count)
    )
  `
  yield* sql`
    CREATE TABLE bulk_job_outcomes (
      job_id uuid NOT NULL REFERENCES bulk_jobs ON DELETE CASCADE,
      first integer NOT NULL,
      count integer NOT NULL CHECK (count > 0),
      statuses text[] NOT NULL CHECK (statuses <@ '{succeeded,skipped,failed}'),
      details text[] NOT NULL,
      action_ids uuid[] NOT NULL,
      before_expires_at timestamptz[] NOT NULL,
      after_expires_at timestamptz[] NOT NULL,
      PRIMARY KEY (job_id, first),
      CHECK (cardinality(statuses) = count AND cardinality(details) = count)
    )
  `
  yield* sql`
    INSERT INTO bulk_job_clients
    SELECT item.job_id, min(item.position), count(*), array_agg(item.client ORDER BY item.position),
      CASE WHEN bool_or(job.kind = 'undo') THEN array_agg(item.action_id ORDER BY item.position) END,
      CASE WHEN bool_or(job.kind = 'undo') THEN array_agg(was.detail = 'created' ORDER BY item.position) END,
      CASE WHEN bool_or(job.kind = 'undo') THEN array_agg(was.before_expires_at ORDER BY item.position) END,
      CASE WHEN bool_or(job.kind = 'undo') THEN array_agg(was.after_expires_at ORDER BY item.position) END
    FROM bulk_job_items AS item
      JOIN bulk_jobs AS job ON job.id = item.job_id
      LEFT JOIN bulk_job_items AS was ON was.job_id = job.undo_of AND was.position = item.of_position
    GROUP BY item.job_id, item.position / 1000
  `
  yield* sql`
    INSERT INTO bulk_job_outcomes
    SELECT job_id, min(position), count(*), array_agg(status ORDER BY position), array_agg(detail ORDER BY position),
      array_agg(action_id ORDER BY position), array_agg(before_expires_at ORDER BY position),
      array_agg(after_expires_at ORDER BY position)
    FROM bulk_job_items WHERE status <> 'pending' GROUP BY job_id, position / 1000
  `
  yield* sql`DROP TABLE bulk_job_items`
  // Nothing tells Postgres how many clients a row holds: by its guess it would compare each client with each outcome.
  yield* sql`
    CREATE FUNCTION items_of_bulk_job(job uuid, lowest integer, beyond integer) RETURNS TABLE (
      "position" integer, client text, client_mac text, status text, detail text, action_id uuid,
      before_expires_at timestamptz, after_expires_at timestamptz
    ) LANGUAGE sql STABLE SET enable_nestloop = off AS $$
      SELECT asked.place::integer, asked.client, CASE WHEN asked.client LIKE '%:%' THEN asked.client END,
        coalesce(dealt.status, 'pending'), coalesce(dealt.detail, ''), coalesce(dealt.action_id, asked.action_id),
        dealt.before_expires_at, dealt.after_expires_at
      FROM (
        SELECT first + number - 1 AS place, client, action_id
        FROM bulk_job_clients CROSS JOIN LATERAL unnest(clients, action_ids)
          WITH ORDINALITY AS one (client, action_id, number)
        WHERE job_id = job AND first < beyond AND first + count > lowest
      ) AS asked
      LEFT JOIN (
        SELECT first + number - 1 AS place, one.*
        FROM bulk_job_outcomes AS step
          CROSS JOIN LATERAL unnest(statuses, details, action_ids, step.before_expires_at, step.after_expires_at)
          WITH ORDINALITY AS one (status, detail, action_id, before_expires_at, after_expires_at, number)
        WHERE job_id = job AND first < beyond AND first + count > lowest
      ) AS dealt USING (place)
      WHERE asked.place >= lowest AND asked.place < beyond
    $$
  `
  yield* sql`
    CREATE VIEW bulk_job_items AS
    SELECT bulk_jobs.id AS job_id, items.*
    FROM bulk_jobs CROSS JOIN LATERAL items_of_bulk_job(bulk_jobs.id, 0, bulk_jobs.total) AS items
  `
})
