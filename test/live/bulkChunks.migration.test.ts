import { Migrator, SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { BulkJobsPg } from "../../src/layers/postgres/BulkJobsPg.ts"
import { DesiredMacsPg } from "../../src/layers/postgres/DesiredMacsPg.ts"
import { migratePostgres } from "../../src/layers/postgres/migrate.ts"
import { migrations } from "../../src/layers/postgres/migrations/index.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { JobId } from "../../src/schema/BulkJob.ts"
import { Actions } from "../../src/services/Actions.ts"
import { BulkJobs } from "../../src/services/BulkJobs.ts"
import { DesiredMacs } from "../../src/services/DesiredMacs.ts"
import { walk } from "../contract/pages.ts"
import { freshDatabase } from "../support/engines.ts"

const before = Migrator.make({})({
  loader: Effect.map(migrations, (all) => all.filter(([id]) => id <= 20)),
  table: "schema_migrations"
})

const [job, undo] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]
const dealtWith = 1500
const total = 2300

/** A cancelled job of 2300 clients, of which every second of the first 1500 was blocked, and its undo. */
const rowsFromBefore = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO users (username, password_hash, role, created_at) VALUES ('old', 'hash', 'admin', now())`
  const [kept] = [{ criteria_hash: "sha256:0", reason: "old", created_by: 1, request_id: "r" }]
  const jobOf = (id: string, of: string | null, status: string, dealt: number, succeeded: number, clients: number) =>
    sql`INSERT INTO bulk_jobs ${
      sql.insert({
        ...kept,
        id,
        kind: of === null ? "apply" : "undo",
        undo_of: of,
        status,
        action: "{\"type\":\"block\"}",
        criteria: "{\"all\":true}",
        total: clients,
        processed: dealt,
        succeeded,
        skipped: dealt - succeeded,
        created_at: new Date(),
        finished_at: status === "running" ? null : new Date()
      })
    }`
  yield* jobOf(job!, null, "cancelled", dealtWith, dealtWith / 2, total)
  yield* sql`INSERT INTO actions
      (id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, created_at, synced_at)
    SELECT gen_random_uuid(), 'block', '', mac, mac, 'active', 'old', 'bulk_job', ${job}, now(),
      CASE WHEN n < 1000 THEN '2026-01-31T08:00:00Z'::timestamptz END
    FROM generate_series(0, ${dealtWith - 1}::integer, 2) AS n,
      concat('02:00:00:00:', regexp_replace(lpad(to_hex(n), 4, '0'), '(..)(..)', '\\1:\\2')) AS mac`
  yield* sql`INSERT INTO bulk_job_items (job_id, position, client, client_mac, status, detail, action_id)
    SELECT ${job}::uuid, n, mac, mac,
      CASE WHEN n >= ${dealtWith} THEN 'pending' WHEN held.id IS NULL THEN 'skipped' ELSE 'succeeded' END,
      CASE WHEN n >= ${dealtWith} THEN '' WHEN held.id IS NULL THEN 'protected' ELSE 'created' END, held.id
    FROM generate_series(0, ${total - 1}::integer) AS n,
      concat('02:00:00:00:', regexp_replace(lpad(to_hex(n), 4, '0'), '(..)(..)', '\\1:\\2')) AS mac
      LEFT JOIN actions AS held ON held.client = mac`
  yield* jobOf(undo!, job!, "running", 0, 0, dealtWith / 2)
  yield* sql`INSERT INTO bulk_job_items (job_id, position, client, client_mac, action_id, of_position)
    SELECT ${undo}::uuid, row_number() OVER (ORDER BY position) - 1, client, client_mac, action_id, position
    FROM bulk_job_items WHERE job_id = ${job} AND status = 'succeeded'`
  return yield* sql`SELECT position, client, client_mac, status, detail, action_id
    FROM bulk_job_items WHERE job_id = ${job} ORDER BY position`
})

describe("bulk jobs and actions from before they were kept in chunks", () => {
  it.scopedLive(
    "read as they did, go on, and leave the packet filter behind of what it was behind of",
    () =>
      Effect.gen(function*() {
        const client = postgresClient(Redacted.make(yield* freshDatabase), 4)
        const stores = Layer.mergeAll(BulkJobsPg, ActionsPg, DesiredMacsPg)
        yield* Effect.gen(function*() {
          yield* before
          const items = yield* rowsFromBefore
          yield* migratePostgres
          yield* Effect.gen(function*() {
            const jobs = yield* BulkJobs
            const store = yield* DesiredMacs
            const pages = yield* walk(700, (page) => jobs.items(JobId.make(job!), page))
            assert.deepStrictEqual<ReadonlyArray<unknown>>(pages.flatMap(({ items }) => items), items)
            assert.strictEqual((yield* store.behind).macs.length, dealtWith / 2 - 500)
            const { items: [synced] } = yield* (yield* Actions).list({ client: "02:00:00:00:00:02", limit: 1 })
            assert.deepInclude(synced, {
              synced_at: DateTime.unsafeMake("2026-01-31T08:00:00Z"),
              enforced_at: ["inet"]
            })
            const at = yield* DateTime.now
            for (let next: number | null = 0; next !== null;) next = yield* jobs.step(JobId.make(undo!), at, 400)
            assert.deepInclude(yield* jobs.get(JobId.make(undo!)), { status: "completed", succeeded: dealtWith / 2 })
            assert.strictEqual((yield* store.behind).macs.length, dealtWith / 2)
          }).pipe(Effect.provide(stores))
        }).pipe(Effect.provide(client))
      }),
    60_000
  )
})
