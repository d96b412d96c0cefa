import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { AuditTrailPg } from "../../src/layers/postgres/AuditTrailPg.ts"
import { FeedbackBoxPg } from "../../src/layers/postgres/FeedbackBoxPg.ts"
import { IdempotencyKeysPg } from "../../src/layers/postgres/IdempotencyKeysPg.ts"
import { IpRestrictionsPg } from "../../src/layers/postgres/IpRestrictionsPg.ts"
import { PreferencesPg } from "../../src/layers/postgres/PreferencesPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"
import { accessContract } from "../contract/Access.ts"
import { auditEntry, auditTrailContract, sealAll } from "../contract/AuditTrail.ts"
import { PostgresTest } from "../support/engines.ts"

accessContract(
  "postgres",
  Layer.mergeAll(UsersPg, IpRestrictionsPg, PreferencesPg, FeedbackBoxPg, IdempotencyKeysPg).pipe(
    Layer.provide(PostgresTest)
  ),
  20
)

auditTrailContract("postgres", Layer.provide(AuditTrailPg, PostgresTest), 20)

const untriggered = <A, E>(table: string, effect: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE ${sql(table)} DISABLE TRIGGER USER`
    yield* effect
    yield* sql`ALTER TABLE ${sql(table)} ENABLE TRIGGER USER`
  })

describe("the audit trail in Postgres", () => {
  it.effect("refuses to change, and names what was changed all the same", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const trail = yield* AuditTrail
      const ids = Array.from({ length: 9 }, () => randomUUID())
      const entries = fc.sample(auditEntry, 9).map((entry, index) => ({ ...entry, id: ids[index]! }))
      for (const part of [entries.slice(0, 3), entries.slice(3, 6), entries.slice(6)]) {
        yield* Effect.forEach(part, trail.record)
        yield* sealAll
      }
      const whole = yield* trail.verify(undefined)
      assert.deepInclude(whole, { valid: true, batches: 3, entries: 9, unsealed: 0 })

      for (
        const attempt of [
          sql`UPDATE audit_entries SET username = 'x'`,
          sql`DELETE FROM audit_entries`,
          sql`TRUNCATE audit_entries`,
          sql`UPDATE audit_batches SET hash = 'x'`,
          sql`DELETE FROM audit_batches`
        ]
      ) assert.match(String((yield* Effect.flip(attempt)).cause), /append-only/)
      assert.isTrue((yield* trail.verify(undefined)).valid)

      const added = randomUUID()
      yield* untriggered(
        "audit_entries",
        Effect.all([
          sql`UPDATE audit_entries SET username = 'somebody else' WHERE id = ${ids[1]!}`,
          sql`DELETE FROM audit_entries WHERE id = ${ids[4]!}`,
          sql`INSERT INTO audit_entries (id, at, operation, outcome, request_id)
            VALUES (${added}, now(), 'x', 'success', 'y')`
        ])
      )
      const tampered = yield* trail.verify(undefined)
      assert.isFalse(tampered.valid)
      assert.deepStrictEqual(tampered.faults, [
        { kind: "entry_added", batch: null, entry: added },
        { kind: "entry_changed", batch: 1, entry: ids[1]! },
        { kind: "entry_missing", batch: 2, entry: ids[4]! }
      ])
    }).pipe(Effect.provide(Layer.provideMerge(AuditTrailPg, PostgresTest))))

  it.effect("tells of a batch that is gone, in the middle and at the end", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const trail = yield* AuditTrail
      for (const entry of fc.sample(auditEntry, 3)) {
        yield* trail.record({ ...entry, id: randomUUID() })
        yield* sealAll
      }
      const { head } = yield* trail.verify(undefined)
      yield* untriggered("audit_batches", sql`DELETE FROM audit_batches WHERE number <> 1`)
      const kinds = (yield* trail.verify(head!)).faults.map(({ kind }) => kind)
      assert.sameMembers(kinds, ["entry_added", "entry_added", "head_missing"])
    }).pipe(Effect.provide(Layer.provideMerge(AuditTrailPg, PostgresTest))))

  it.effect("keeps an entry exactly when its transaction is kept, and seals it once among many sealers", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const trail = yield* AuditTrail
      const entries = fc.sample(auditEntry, 20).map((entry) => ({ ...entry, id: randomUUID() }))
      yield* Effect.forEach(entries, (entry, index) =>
        Effect.ignore(sql.withTransaction(
          Effect.zipRight(trail.record(entry), index % 2 === 0 ? Effect.void : Effect.fail("undone"))
        )), { concurrency: "unbounded" })
      yield* Effect.all(Array.from({ length: 4 }, () => trail.seal), { concurrency: "unbounded" })
      const verdict = yield* sealAll
      assert.deepInclude(verdict, { valid: true, entries: 10 })
      assert.strictEqual((yield* trail.list({ limit: 50 })).total, 10)
    }).pipe(Effect.provide(Layer.provideMerge(AuditTrailPg, PostgresTest))))
})
