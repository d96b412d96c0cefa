import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted, Schedule } from "effect"
import { spawnSync } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { BulkJobsPg } from "../../src/layers/postgres/BulkJobsPg.ts"
import { DesiredMacsPg } from "../../src/layers/postgres/DesiredMacsPg.ts"
import { migratePostgres, withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { identityOf } from "../../src/schema/ActionRequest.ts"
import { JobId } from "../../src/schema/BulkJob.ts"
import { Username } from "../../src/schema/User.ts"
import { BulkJobs } from "../../src/services/BulkJobs.ts"
import { DesiredMacs } from "../../src/services/DesiredMacs.ts"
import { listedMacs } from "../../src/services/enforcedElements.ts"
import { Users } from "../../src/services/Users.ts"
import { freshDatabase } from "./engines.ts"

/** The stores of bulk jobs on a database that other processes share. */
const stores = (url: string) =>
  Layer.mergeAll(UsersPg, BulkJobsPg, DesiredMacsPg).pipe(
    Layer.provideMerge(Layer.provideMerge(
      Layer.effectDiscard(withMigrationLock(migratePostgres)),
      postgresClient(Redacted.make(url), 5)
    )),
    Layer.orDie
  )

/** A network namespace for the packet filter of all nodes. */
const namespace = Effect.acquireRelease(
  Effect.sync(() => {
    const name = `nop${randomBytes(3).toString("hex")}`
    assert.strictEqual(spawnSync("ip", ["netns", "add", name]).status, 0)
    return name
  }),
  (name) => Effect.sync(() => spawnSync("ip", ["netns", "del", name]))
)

/** A fresh database and packet filter, and what nodes need to be told of them. */
export const bulkPlace = Effect.gen(function*() {
  const url = yield* freshDatabase
  const name = yield* namespace
  const env = { DATABASE_URL: url, NETOPS_NFT_TARGET: `netns:${name}`, NETOPS_BLOCKS_PER_HOUR: "100000000" }
  return { env, stores: stores(url), namespace: name }
})

const mac = (index: number) => `02:${index.toString(16).padStart(10, "0").match(/../g)!.join(":")}`

let made = 0

/** A job that blocks so many clients, of which no other job has any. */
export const blockJob = Effect.fnUntraced(function*(clients: number) {
  const at = yield* DateTime.now
  const user = yield* (yield* Users).create({
    username: Username.make(randomUUID()),
    role: "operator",
    passwordHash: Redacted.make("hash")
  })
  const first = made
  made += clients
  const { id } = yield* (yield* BulkJobs).create({
    id: JobId.make(randomUUID()),
    action: { type: "block" },
    criteria: { all: true },
    criteria_hash: "sha256:0",
    reason: "as asked",
    created_by: user.id,
    request_id: "r-1",
    scheduled_at: null,
    created_at: at
  }, Array.from({ length: clients }, (_, index) => identityOf(mac(first + index))))
  return id
})

/** Waits until the job has dealt with more clients than these, and gives how many. */
export const progressBeyond = (id: JobId, processed: number) =>
  Effect.flatMap(BulkJobs, (jobs) => jobs.get(id)).pipe(
    Effect.filterOrFail((job) => job.processed > processed || job.finished_at !== null),
    Effect.retry(Schedule.spaced("20 millis").pipe(Schedule.upTo("60 seconds")))
  )

/** Waits for the end of a job and holds it to its word: each client dealt with once, and acted on once. */
export const assertActedOnce = Effect.fnUntraced(function*(id: JobId) {
  const sql = yield* SqlClient.SqlClient
  const job = yield* Effect.flatMap(BulkJobs, (jobs) => jobs.get(id)).pipe(
    Effect.filterOrFail(({ finished_at }) => finished_at !== null),
    Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo("90 seconds")))
  )
  assert.deepInclude(job, { status: "completed", processed: job.total, succeeded: job.total, error: "" })
  const items = yield* sql`SELECT status, detail, count(*) AS clients, count(DISTINCT action_id) AS actions
    FROM bulk_job_items WHERE job_id = ${id} GROUP BY status, detail`
  assert.deepStrictEqual(items, [{ status: "succeeded", detail: "created", clients: job.total, actions: job.total }])
  const [acted] = yield* sql`SELECT count(*) AS rows, count(DISTINCT client) AS clients
    FROM actions WHERE origin_id = ${id}`
  assert.deepStrictEqual(acted, { rows: job.total, clients: job.total })
})

/** Waits until the packet filter holds exactly what is desired, all of it marked as synced. */
export const assertEnforced = (name: string) =>
  Effect.gen(function*() {
    const store = yield* DesiredMacs
    const now = yield* DateTime.now
    const desired = yield* store.desired(now)
    const { stdout } = spawnSync("ip", ["netns", "exec", name, "nft", "-j", "list", "ruleset"], { maxBuffer: 1e9 })
    const { nftables } = JSON.parse(String(stdout)) as { readonly nftables: ReadonlyArray<Record<string, unknown>> }
    const { blocked_macs } = listedMacs(nftables, "inet", DateTime.toEpochMillis(now))
    assert.deepStrictEqual([...blocked_macs.keys()].sort(), [...desired.blocked_macs.keys()].sort())
    assert.strictEqual((yield* store.behind).macs.length, 0)
  }).pipe(
    Effect.sandbox,
    Effect.retry(Schedule.spaced("250 millis").pipe(Schedule.upTo("20 seconds"))),
    Effect.unsandbox
  )
