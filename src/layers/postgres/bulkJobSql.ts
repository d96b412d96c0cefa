import { SqlClient, SqlSchema } from "@effect/sql"
import { Data, DateTime, Duration, Effect, Schema } from "effect"
import { type ActionId, ActionSpec } from "../../schema/Action.ts"
import { BulkCriteria } from "../../schema/BulkCriteria.ts"
import { BulkJob } from "../../schema/BulkJob.ts"
import { type ActionOrder, keyOfOrder } from "../../services/ActionOrders.ts"
import { stateAfter } from "../../services/BulkJobs.ts"
import { orderStatements } from "./orderSql.ts"
import { textArray, Timestamp } from "./sql.ts"

const times = {
  scheduled_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  started_at: Schema.NullOr(Timestamp),
  finished_at: Schema.NullOr(Timestamp)
}

/** A job as the columns hold it. */
export const JobRow = Schema.Struct({ ...BulkJob.fields, ...times, refused: Schema.Int })
export type JobRow = typeof JobRow.Type

/** As `JobRow`, to be written: objects as JSON. */
export const NewJobRow = Schema.Struct({
  ...JobRow.fields,
  action: Schema.parseJson(ActionSpec),
  criteria: Schema.parseJson(BulkCriteria)
})

/** A job with its next clients, with commas: rows are decoded one by one, which takes far longer. */
const RunningRow = Schema.Struct({ ...JobRow.fields, clients: Schema.String, actions: Schema.String })

interface Client {
  readonly client: string
  readonly client_mac: string | null
  readonly action_id: string | null
}

interface Outcome extends Pick<Client, "action_id"> {
  readonly detail: string
  readonly status: "succeeded" | "skipped" | "failed"
  readonly before: DateTime.Utc | null
  readonly after: DateTime.Utc | null
}

/** A UUID of version 7, after those of smaller times and indexes up to 4095: an index is cheapest to extend at its end. */
const nextId = (at: DateTime.Utc, index: number): ActionId => {
  const time = DateTime.toEpochMillis(at).toString(16).padStart(12, "0")
  const count = (index % 4096).toString(16).padStart(3, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${crypto.randomUUID().slice(19)}` as ActionId
}

const clientsOf = ({ actions, clients }: typeof RunningRow.Type): ReadonlyArray<Client> => {
  if (clients === "") return []
  const ids = actions.split(",")
  return clients.split(",").map((client, index) => ({
    client,
    client_mac: client.includes(":") ? client : null,
    action_id: ids[index] || null
  }))
}

const iso = (instant: DateTime.Utc | null) => instant && DateTime.formatIso(instant)

/** The job was cancelled, or moved by another node, while this one worked: what was done has to be rolled back. */
export class Superseded extends Data.TaggedError("BulkJobs/Superseded")<{}> {}

/** The statements of a step, which run in one transaction. */
export const jobStatements = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { exclusively, numbered, place } = yield* orderStatements

  const findRunning = SqlSchema.findOne({
    Request: Schema.Struct({ id: Schema.String, count: Schema.Int }),
    Result: RunningRow,
    execute: ({ count, id }) =>
      sql`SELECT job.*, next.* FROM bulk_jobs AS job CROSS JOIN LATERAL (
          SELECT coalesce(string_agg(array_to_string(clients, ','), ',' ORDER BY first), '') AS clients,
            coalesce(string_agg(array_to_string(actions, ','), ',' ORDER BY first), '') AS actions
          FROM (
            SELECT first, clients[greatest(processed - first, 0) + 1 : processed + ${count} - first] AS clients,
              action_ids[greatest(processed - first, 0) + 1 : processed + ${count} - first] AS actions
            FROM bulk_job_clients
            WHERE job_id = job.id AND first < processed + ${count} AND first + bulk_job_clients.count > processed
          ) AS part
        ) AS next WHERE id = ${id} AND status = 'running'`
  })

  const apply = Effect.fnUntraced(function*(job: JobRow, items: ReadonlyArray<Client>, at: DateTime.Utc) {
    const { duration_minutes, tag, type } = job.action
    const expires_at = duration_minutes === undefined
      ? null
      : DateTime.addDuration(at, Duration.minutes(duration_minutes))
    const orders = items.map(({ client, client_mac }, index): ActionOrder => ({
      id: nextId(at, index),
      type,
      tag: tag ?? null,
      client,
      client_mac,
      expires_at
    }))
    const { changed, held, refused } = yield* place(orders, {
      at,
      reason: job.reason,
      origin: { kind: "bulk_job", id: job.id }
    })
    const done = new Set(changed.map(keyOfOrder))
    const reasons = new Map(refused.map(({ order, reason }) => [keyOfOrder(order), reason]))
    return items.map((_, index): Outcome => {
      const order = orders[index]!
      const key = keyOfOrder(order)
      const before = held.get(key)
      const reason = reasons.get(key)
      if (reason !== undefined) {
        return { status: "skipped", detail: reason, action_id: null, before: null, after: null }
      }
      if (!done.has(key)) {
        return { status: "skipped", detail: "in_force", action_id: before!.id, before: null, after: null }
      }
      return {
        status: "succeeded",
        detail: before === undefined ? "created" : "prolonged",
        action_id: before?.id ?? order.id,
        before: before?.expires_at ?? null,
        after: expires_at
      }
    })
  })

  // Only what still is as the job left it: what others changed since is theirs.
  const restore = Effect.fnUntraced(function*(job: JobRow, items: ReadonlyArray<Client>, at: DateTime.Utc) {
    const now = DateTime.toDateUtc(at)
    const end = job.processed + items.length
    yield* exclusively
    const restored = yield* sql`WITH due AS (
        SELECT held.id, was.created AS ends, was.before_expires_at
        FROM bulk_job_clients AS asked
          CROSS JOIN LATERAL unnest(action_ids, created, asked.before_expires_at, asked.after_expires_at)
            WITH ORDINALITY AS was (action_id, created, before_expires_at, after_expires_at, number)
          JOIN actions held ON held.id = was.action_id
        WHERE asked.job_id = ${job.id} AND asked.first < ${end} AND asked.first + asked.count > ${job.processed}
          AND asked.first + was.number - 1 >= ${job.processed} AND asked.first + was.number - 1 < ${end}
          AND held.status = 'active' AND (held.expires_at IS NULL OR held.expires_at > ${now})
          AND held.expires_at IS NOT DISTINCT FROM was.after_expires_at
        ORDER BY held.client, held.type, held.tag FOR UPDATE OF held
      )
      UPDATE actions SET ${numbered},
        status = CASE WHEN ends THEN 'removed' ELSE status END,
        ended_at = CASE WHEN ends THEN ${now}::timestamptz END,
        expires_at = CASE WHEN ends THEN expires_at ELSE before_expires_at END
      FROM due WHERE actions.id = due.id RETURNING actions.id, due.ends`.pipe(
      Effect.flatMap(Schema.decodeUnknown(Schema.Array(Schema.Struct({ id: Schema.String, ends: Schema.Boolean }))))
    )
    const ends = new Map(restored.map(({ ends, id }) => [id, ends]))
    return items.map(({ action_id }): Outcome => {
      const ended = ends.get(action_id!)
      return {
        status: ended === undefined ? "skipped" : "succeeded",
        detail: ended === undefined ? "changed_since" : ended ? "removed" : "restored",
        action_id,
        before: null,
        after: null
      }
    })
  })

  // What another node has logged by now makes the move fail, which tells more.
  const log = (id: string, from: number, outcomes: ReadonlyArray<Outcome>) =>
    sql`WITH logged AS (
        INSERT INTO bulk_job_outcomes
          (job_id, first, count, statuses, details, action_ids, before_expires_at, after_expires_at)
        VALUES (
          ${id}, ${from}, ${outcomes.length},
          ${textArray(sql, outcomes.map(({ status }) => status))},
          ${textArray(sql, outcomes.map(({ detail }) => detail))},
          ${textArray(sql, outcomes.map(({ action_id }) => action_id))}::uuid[],
          ${textArray(sql, outcomes.map(({ before }) => iso(before)))}::timestamptz[],
          ${textArray(sql, outcomes.map(({ after }) => iso(after)))}::timestamptz[]
        ) ON CONFLICT DO NOTHING
      )`

  /**
   * Deals with the next clients of a job. The job is locked last, so that a cancel waits for the commit alone, and moves
   * only from where it was read: when it was cancelled or moved meanwhile all is rolled back.
   */
  const advance = Effect.fnUntraced(function*(job: typeof RunningRow.Type, at: DateTime.Utc) {
    const items = clientsOf(job)
    const outcomes = items.length === 0
      ? []
      : yield* (job.kind === "undo" ? restore : apply)(job, items, at)
    const tally = (status: Outcome["status"]) => outcomes.filter((outcome) => outcome.status === status).length
    const refused = outcomes.filter(({ detail }) => detail === "protected" || detail === "hourly_cap").length
    const after = {
      total: job.total,
      processed: job.processed + outcomes.length,
      failed: job.failed + tally("failed")
    }
    const status = stateAfter(after, job.refused + refused)
    const moved = yield* sql`${outcomes.length > 0 ? log(job.id, job.processed, outcomes) : sql``}
      UPDATE bulk_jobs SET status = ${status}, processed = ${after.processed},
        failed = ${after.failed}, succeeded = succeeded + ${tally("succeeded")}, skipped = skipped + ${
      tally("skipped")
    },
        refused = refused + ${refused}, finished_at = ${status === "running" ? null : DateTime.toDateUtc(at)}
      WHERE id = ${job.id} AND status = 'running' AND processed = ${job.processed} RETURNING 1`
    if (moved.length === 0) return yield* new Superseded()
    return status === "running" ? after.processed : null
  })

  return { findRunning, advance }
})
