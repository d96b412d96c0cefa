import { SqlClient, SqlSchema } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import type { ClientIdentity } from "../../schema/ActionRequest.ts"
import { BulkItem, JobId } from "../../schema/BulkJob.ts"
import { decodeCursor, encodeCursor, InvalidCursor } from "../../schema/Page.ts"
import { BulkJobs, JobMissing, JobStateRefused } from "../../services/BulkJobs.ts"
import { JobRow, jobStatements, NewJobRow } from "./bulkJobSql.ts"
import { newestPage } from "./newestPage.ts"
import { orderStatements } from "./orderSql.ts"
import { onUniqueViolation, Timestamp } from "./sql.ts"

const fresh = {
  kind: "apply",
  undo_of: null,
  processed: 0,
  succeeded: 0,
  skipped: 0,
  failed: 0,
  refused: 0,
  error: "",
  finished_at: null
} as const

const Id = Schema.Struct({ id: JobId })
const open = ["scheduled", "running"] as const

/** How many clients of a job one row holds. */
const clientsOfRow = 1000
const rowsOf = (clients: ReadonlyArray<ClientIdentity>) =>
  Array.from(
    { length: Math.ceil(clients.length / clientsOfRow) },
    (_, row) => clients.slice(row * clientsOfRow, (row + 1) * clientsOfRow).map(({ client }) => client).join(",")
  )

export const BulkJobsPg = Layer.effect(
  BulkJobs,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const pg = yield* PgClient.PgClient
    const { advance, findRunning } = yield* jobStatements
    const page = yield* newestPage({
      table: "bulk_jobs",
      time: "created_at",
      row: JobRow,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })
    const { exclusively } = yield* orderStatements
    const decodeItems = Schema.decodeUnknown(Schema.Array(BulkItem))

    const findOne = SqlSchema.findOne({
      Request: JobId,
      Result: JobRow,
      execute: (id) => sql`SELECT * FROM bulk_jobs WHERE id = ${id}`
    })
    const insert = SqlSchema.single({
      Request: NewJobRow,
      Result: JobRow,
      execute: (row) => sql`INSERT INTO bulk_jobs ${sql.insert(row)} RETURNING *`
    })
    const cancelOpen = SqlSchema.findAll({
      Request: Schema.Struct({ ids: Schema.NullOr(Schema.Array(JobId)), at: Timestamp }),
      Result: JobRow,
      execute: ({ at, ids }) =>
        sql`UPDATE bulk_jobs SET status = 'cancelled', finished_at = ${at}
          WHERE status IN ${sql.in(open)} AND (${ids}::uuid[] IS NULL OR id = ANY (${ids}::uuid[])) RETURNING *`
    })
    const start = SqlSchema.findAll({
      Request: Timestamp,
      Result: Id,
      execute: (at) =>
        sql`WITH due AS (
            UPDATE bulk_jobs SET status = 'running', started_at = ${at}
            WHERE status = 'scheduled' AND scheduled_at <= ${at} RETURNING id, created_at
          )
          SELECT id FROM (
            SELECT id, created_at FROM due
            UNION SELECT id, created_at FROM bulk_jobs WHERE status = 'running'
          ) AS runs ORDER BY created_at, id`
    })

    const get = Effect.fn("BulkJobs.get")(function*(id: JobId) {
      const row = yield* Effect.orDie(findOne(id))
      return Option.isSome(row) ? row.value : yield* new JobMissing({ id })
    })

    return BulkJobs.of({
      get,
      create: Effect.fn("BulkJobs.create")(function*(job, clients) {
        const runs = job.scheduled_at === null
        const row = {
          ...fresh,
          ...job,
          status: runs ? "running" as const : "scheduled" as const,
          started_at: runs ? job.created_at : null,
          total: clients.length
        }
        return yield* insert(row).pipe(
          Effect.zipLeft(sql`INSERT INTO bulk_job_clients (job_id, first, count, clients)
            SELECT ${job.id}::uuid, (number - 1) * ${clientsOfRow}::integer, cardinality(clients), clients
            FROM unnest(${rowsOf(clients)}::text[]) WITH ORDINALITY AS row (texts, number),
              string_to_array(texts, ',') AS clients`),
          sql.withTransaction,
          Effect.orDie
        )
      }),
      list: (query) => page(query.status === undefined ? sql`true` : sql`status = ${query.status}`, query),
      items: Effect.fn("BulkJobs.items")(function*(id, { cursor, limit }) {
        const { total } = yield* get(id)
        const [after] = cursor === undefined ? [-1] : decodeCursor(cursor, 1) ?? []
        if (typeof after !== "number" || !Number.isSafeInteger(after)) return yield* new InvalidCursor()
        const next = Math.max(0, Math.min(after + 1, total))
        const rows = yield* sql`SELECT * FROM items_of_bulk_job(${id}, ${next}::integer, ${
          Math.min(next + limit, total)
        }::integer) ORDER BY position`.pipe(
          Effect.flatMap(decodeItems),
          Effect.orDie
        )
        const last = rows.at(-1)?.position ?? total
        return { items: rows, total, next: last + 1 < total ? encodeCursor([last]) : null }
      }),
      cancel: Effect.fn("BulkJobs.cancel")(function*(id, at) {
        const [job] = yield* Effect.orDie(cancelOpen({ ids: [id], at }))
        if (job !== undefined) return job
        return yield* new JobStateRefused({ status: (yield* get(id)).status })
      }),
      cancelAll: (at) =>
        // A step locks actions before its job; who goes on to lift actions has to come before or after it.
        Effect.zipRight(exclusively, cancelOpen({ ids: null, at })).pipe(
          sql.withTransaction,
          Effect.map((rows) => rows.length),
          Effect.orDie
        ),
      undo: Effect.fn("BulkJobs.undo")(function*(id, undo) {
        const job = yield* get(id)
        const refused = () => new JobStateRefused({ status: job.status })
        if (job.kind === "undo" || job.status === "scheduled" || job.status === "running") return yield* refused()
        return yield* insert({
          ...fresh,
          ...undo,
          kind: "undo",
          undo_of: id,
          status: "running",
          action: job.action,
          criteria: job.criteria,
          criteria_hash: job.criteria_hash,
          total: job.succeeded,
          scheduled_at: null,
          started_at: undo.created_at
        }).pipe(
          Effect.zipLeft(sql`INSERT INTO bulk_job_clients
            SELECT ${undo.id}::uuid, min(number), count(*), array_agg(client ORDER BY number),
              array_agg(action_id ORDER BY number), array_agg(detail = 'created' ORDER BY number),
              array_agg(before_expires_at ORDER BY number), array_agg(after_expires_at ORDER BY number)
            FROM (
              SELECT *, row_number() OVER (ORDER BY position) - 1 AS number
              FROM bulk_job_items WHERE job_id = ${id} AND status = 'succeeded'
            ) AS done GROUP BY number / ${clientsOfRow}::integer`),
          sql.withTransaction,
          Effect.catchTags({ ParseError: Effect.die, NoSuchElementException: Effect.die }),
          onUniqueViolation(refused)
        )
      }),
      running: (at) => Effect.orDie(Effect.map(start(at), (rows) => rows.map(({ id }) => id))),
      step: (id, at, clients) =>
        findRunning({ id, count: clients }).pipe(
          Effect.flatMap(Option.match({
            onNone: () => Effect.succeed(null),
            onSome: (job) => advance(job, at)
          })),
          sql.withTransaction,
          Effect.retry({ while: ({ _tag }) => _tag === "BulkJobs/Superseded" }),
          Effect.orDie,
          Effect.withSpan("BulkJobs.step")
        ),
      fail: (id, at, error) =>
        Effect.orDie(sql`UPDATE bulk_jobs SET status = 'failed', error = ${error},
          finished_at = ${DateTime.toDateUtc(at)} WHERE id = ${id} AND status = 'running'`),
      changes: pg.listen("bulk_jobs").pipe(Stream.map(() => undefined), Stream.catchAll(() => Stream.empty))
    })
  })
)
