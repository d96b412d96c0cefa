import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { ServiceEventsPg } from "../../src/layers/postgres/ServiceEventsPg.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { PostgresTest } from "../support/engines.ts"

const typesOf = (subject: string) =>
  Effect.flatMap(ServiceEvents, ({ list }) => list({ subject, limit: 10 })).pipe(
    Effect.map(({ items }) => items.map(({ severity, type }) => `${type} ${severity}`).sort())
  )

describe("events of jobs and actions", () => {
  it.layer(Layer.provideMerge(ServiceEventsPg, PostgresTest))((it) => {
    it.effect("are what the catalogue says, one for each turn", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [user] = yield* sql<{ readonly id: number }>`INSERT INTO users (username, role, password_hash, created_at)
          VALUES ('jobs', 'operator', 'hash', now()) RETURNING id`
        const job = randomUUID()
        yield* sql`INSERT INTO bulk_jobs ${
          sql.insert({
            id: job,
            kind: "apply",
            status: "running",
            action: JSON.stringify({ type: "block" }),
            criteria: JSON.stringify({ all: true }),
            criteria_hash: "sha256:0",
            reason: "",
            total: 2,
            processed: 0,
            succeeded: 0,
            skipped: 0,
            failed: 0,
            refused: 0,
            error: "",
            created_by: user!.id,
            request_id: "r",
            created_at: new Date(0),
            started_at: new Date(0)
          })
        }`
        yield* sql`UPDATE bulk_jobs SET processed = 1, succeeded = 1 WHERE id = ${job}`
        yield* sql`UPDATE bulk_jobs SET status = 'partial', processed = 2, skipped = 1, finished_at = now()
          WHERE id = ${job}`
        assert.deepStrictEqual(yield* typesOf(`job/${job}`), ["bulk.job.partial warning", "bulk.job.started info"])

        const action = randomUUID()
        yield* sql`INSERT INTO actions (id, type, tag, client, client_mac, status, reason, origin_kind, origin_id,
            created_at, expires_at)
          VALUES (${action}, 'block', '', '02:bd:00:00:00:01', '02:bd:00:00:00:01', 'active', '', 'rule_run',
            ${randomUUID()}, ${new Date(0)}, ${new Date(1000)})`
        const expire = sql`UPDATE actions SET status = 'expired', ended_at = expires_at WHERE id = ${action}`
        yield* Effect.zipRight(expire, expire)
        assert.deepStrictEqual(yield* typesOf(`action/${action}`), ["action.expired info"])
      }))
  })
})
