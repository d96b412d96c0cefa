import { SqlClient } from "@effect/sql"
import { DateTime, Duration, Effect, Layer, Redacted, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { BulkJobsPg } from "../src/layers/postgres/BulkJobsPg.ts"
import { postgresClient } from "../src/layers/postgres/Postgres.ts"
import { UsersPg } from "../src/layers/postgres/UsersPg.ts"
import { type ClientIdentity, identityOf } from "../src/schema/ActionRequest.ts"
import { JobId } from "../src/schema/BulkJob.ts"
import { UserId, Username } from "../src/schema/User.ts"
import { BulkJobs } from "../src/services/BulkJobs.ts"
import { Users } from "../src/services/Users.ts"
import { compare, type Result } from "./harness.ts"
import type { Service } from "./service.ts"

const count = Number(process.env["CLIENTS"] ?? 100_000)
const mac = (index: number) => `06:${index.toString(16).padStart(10, "0").match(/../g)!.join(":")}`

let made = 0
const newClients = (clients: number) => {
  const first = made
  made += clients
  return Array.from({ length: clients }, (_, index) => identityOf(mac(first + index)))
}

const create = (
  by: UserId,
  clients: number | ReadonlyArray<ClientIdentity>,
  delay?: Duration.DurationInput
) =>
  Effect.gen(function*() {
    const at = yield* DateTime.now
    return yield* (yield* BulkJobs).create({
      id: JobId.make(randomUUID()),
      action: { type: "block" },
      criteria: { all: true },
      criteria_hash: "sha256:0",
      reason: "bench",
      created_by: by,
      request_id: "bench",
      scheduled_at: delay === undefined ? null : DateTime.addDuration(at, delay),
      created_at: at
    }, typeof clients === "number" ? newClients(clients) : clients)
  })

const untilEnded = (id: JobId) =>
  Effect.flatMap(BulkJobs, (jobs) => jobs.get(id)).pipe(
    Effect.filterOrFail(({ finished_at }) => finished_at !== null),
    Effect.retry(Schedule.spaced("20 millis"))
  )
const untilStarted = (id: JobId) =>
  Effect.flatMap(BulkJobs, (jobs) => jobs.get(id)).pipe(
    Effect.filterOrFail(({ processed }) => processed > 0),
    Effect.retry(Schedule.spaced("5 millis"))
  )
const untilEnforced = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`SELECT 1 FROM actions_behind() WHERE macs <> ''`.pipe(
      Effect.filterOrFail((rows) => rows.length === 0),
      Effect.retry(Schedule.spaced("20 millis"))
    )
)

/** The claim loop without the service: a client's item and action as rows, a thousand at a time. */
const bareLoop = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const id = randomUUID()
  const clients = newClients(count).map(({ client }) => client)
  yield* sql`INSERT INTO bench_items (job_id, position, client, client_mac)
    SELECT ${id}::uuid, position - 1, client, client FROM unnest(${clients}::text[])
    WITH ORDINALITY AS chosen (client, position)`
  return Effect.gen(function*() {
    for (let from = 0; from < count; from += 1000) {
      yield* Effect.gen(function*() {
        yield* sql`INSERT INTO bench_actions
            (id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, created_at)
          SELECT gen_random_uuid(), 'block', '', client, client_mac, 'active', 'bench', 'bulk_job', ${id}, now()
          FROM bench_items WHERE job_id = ${id} AND position >= ${from} AND position < ${from + 1000}`
        yield* sql`UPDATE bench_items SET status = 'succeeded', detail = 'created', action_id = gen_random_uuid()
          WHERE job_id = ${id} AND position >= ${from} AND position < ${from + 1000}`
      }).pipe(sql.withTransaction)
    }
  })
})

const quantile = (values: ReadonlyArray<number>, part: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
const told = (values: ReadonlyArray<number>) =>
  `p50 ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms`
const median = (values: ReadonlyArray<number>) => quantile(values, 0.5)

const timed = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(work), ([duration, value]) => [Duration.toMillis(duration), value] as const)

/** Bulk jobs beside the SQL that they can't do without. */
export const bulk = (service: Service): Promise<ReadonlyArray<Result>> => {
  const stores = Layer.mergeAll(BulkJobsPg, UsersPg).pipe(
    Layer.provideMerge(postgresClient(service.postgresUrl("postgres"), 4))
  )
  const cancel = (id: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`${service.url}/api/actions/bulk/jobs/${id}/cancel`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.token}` }
      })
      if (answer.status !== 200) throw new Error(`cancel: ${answer.status} ${await answer.text()}`)
      await answer.json()
    })
  const liftAll = Effect.promise(() =>
    fetch(`${service.url}/api/actions?all=true`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${service.token}` }
    })
  )
  return Effect.runPromise(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const jobs = yield* BulkJobs
      const run = yield* Effect.runtime<BulkJobs | SqlClient.SqlClient>().pipe(
        Effect.map((runtime) => <A>(effect: Effect.Effect<A, unknown, BulkJobs | SqlClient.SqlClient>) =>
          Effect.runPromise(Effect.provide(effect, runtime))
        )
      )
      const { id: by } = yield* (yield* Users).create({
        username: Username.make("bench"),
        role: "operator",
        passwordHash: Redacted.make("none")
      })
      yield* sql`
        CREATE TABLE bench_items (
          job_id uuid NOT NULL,
          position integer NOT NULL,
          client text COLLATE "C" NOT NULL,
          client_mac text,
          status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'skipped', 'failed')),
          detail text NOT NULL DEFAULT '',
          action_id uuid,
          before_expires_at timestamptz,
          after_expires_at timestamptz,
          PRIMARY KEY (job_id, position)
        )
      `
      yield* sql`CREATE TABLE bench_actions (LIKE actions INCLUDING ALL)`

      const clients = newClients(count)
      const bare = clients.map(({ client }) => client)
      const stored = yield* Effect.promise(() =>
        compare({
          title: `bulk job of ${count} clients stored`,
          ours: { name: "job", run: () => run(Effect.asVoid(create(by, clients, "365 days"))) },
          peer: {
            name: "INSERT … SELECT unnest",
            run: () =>
              run(Effect.asVoid(sql`INSERT INTO bench_items (job_id, position, client, client_mac)
                SELECT ${randomUUID()}::uuid, position - 1, client, client_mac
                FROM unnest(${bare}::text[], ${bare}::text[]) WITH ORDINALITY AS chosen (client, client_mac, position)`))
          },
          work: { count, unit: "clients" },
          target: "0.9 x the rate"
        })
      )

      const worked: Array<number> = []
      const peers: Array<number> = []
      const behind: Array<number> = []
      for (let round = 0; round < 3; round++) {
        const { id } = yield* create(by, count)
        const [ms] = yield* timed(untilEnded(id))
        const [late] = yield* timed(untilEnforced)
        worked.push(ms)
        behind.push(late)
        const [peer] = yield* timed(yield* bareLoop)
        peers.push(peer)
        yield* liftAll
        yield* untilEnforced
      }
      const rate = (ms: number) => `${Math.round(count / ms * 1000)} clients/s`

      const idle: Array<number> = []
      for (let round = 0; round < 100; round++) {
        const { id } = yield* create(by, 10, "365 days")
        idle.push((yield* timed(cancel(id)))[0])
      }
      const loaded: Array<number> = []
      let late = 0
      for (let round = 0; round < 40; round++) {
        const { id } = yield* create(by, 10_000)
        yield* untilStarted(id)
        const [ms] = yield* timed(Effect.either(Effect.tryPromise(() => Effect.runPromise(cancel(id)))))
        const { processed } = yield* jobs.get(id)
        loaded.push(ms)
        yield* Effect.sleep("300 millis")
        if ((yield* jobs.get(id)).processed !== processed) late++
      }
      return [
        stored,
        {
          title: `bulk job of ${count} clients worked off by the service`,
          ours: `${rate(median(worked))}, ${(median(worked) / 1000).toFixed(1)} s`,
          peer: `bare claim loop: ${rate(median(peers))}`,
          ratio: `${(median(peers) / median(worked)).toFixed(2)} x the rate`,
          target: "5 s end to end"
        },
        {
          title: "its clients in the packet filter",
          ours: `${median(behind).toFixed(0)} ms after its end`,
          peer: "",
          ratio: "",
          target: "1 s after"
        },
        { title: "cancel of a scheduled job, idle", ours: told(idle), peer: "", ratio: "", target: "p99 10 ms" },
        {
          title: "cancel of a job at work",
          ours: `${told(loaded)}; ${late} went on`,
          peer: "",
          ratio: "",
          target: "p99 50 ms; none"
        }
      ]
    }).pipe(Effect.provide(stores))
  )
}
