import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Schema } from "effect"
import { AuditEntry } from "../../schema/AuditEntry.ts"
import { type AuditQuery, AuditTrail, sealBatchMax } from "../../services/AuditTrail.ts"
import { type AuditBatch, checkChain, firstPreviousHash, sealEntries } from "../auditChain.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({ ...AuditEntry.fields, at: Timestamp })
const json = Schema.NullOr(Schema.parseJson(Schema.Unknown))
const NewRow = Schema.Struct({ ...Row.fields, request: json, before: json, after: json })
const BatchRow = Schema.Struct({
  number: Schema.Int,
  previous_hash: Schema.String,
  hash: Schema.String,
  entry_ids: Schema.Array(Schema.String),
  entry_hashes: Schema.Array(Schema.String)
})
const Total = Schema.Struct({ total: Schema.Int })

// Any constant serves, as long as all nodes use the same: the bytes of "audit".
const sealLock = 0x6175646974

/** Batches that are read at a time for verification. */
const verifyBatchesAtOnce = 20

export const AuditTrailPg = Layer.effect(
  AuditTrail,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const insert = SqlSchema.void({
      Request: NewRow,
      execute: (row) => sql`INSERT INTO audit_entries ${sql.insert(row)}`
    })
    const selectUnsealed = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () =>
        sql`SELECT * FROM audit_entries WHERE id IN (SELECT id FROM audit_unsealed LIMIT ${sealBatchMax})
          ORDER BY at, id`
    })
    const selectHead = SqlSchema.findAll({
      Request: Schema.Void,
      Result: BatchRow.pipe(Schema.pick("number", "hash")),
      execute: () => sql`SELECT number, hash FROM audit_batches ORDER BY number DESC LIMIT 1`
    })
    const selectBatches = SqlSchema.findAll({
      Request: Schema.Int,
      Result: BatchRow,
      execute: (after) =>
        sql`SELECT * FROM audit_batches WHERE number > ${after} ORDER BY number LIMIT ${verifyBatchesAtOnce}`
    })
    const selectSealed = SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Row,
      execute: (ids) => sql`SELECT * FROM audit_entries WHERE id = ANY (${ids}::uuid[])`
    })
    const selectStray = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ id: Schema.String }),
      execute: () =>
        sql`SELECT id FROM audit_entries EXCEPT SELECT id FROM audit_unsealed
          EXCEPT SELECT unnest(entry_ids) FROM audit_batches LIMIT 100`
    })
    const countUnsealed = SqlSchema.single({
      Request: Schema.Void,
      Result: Total,
      execute: () => sql`SELECT count(*) AS total FROM audit_unsealed`
    })
    const page = yield* newestPage({
      table: "audit_entries",
      time: "at",
      row: Row,
      position: ({ at, id }) => ({ at, id })
    })

    const where = (query: AuditQuery) =>
      sql.and([
        sql`true`,
        ...(["operation", "user_id", "username", "target", "request_id", "outcome"] as const).flatMap((column) =>
          query[column] === undefined ? [] : [sql`${sql(column)} = ${query[column]}`]
        ),
        ...(query.start === undefined ? [] : [sql`at >= ${DateTime.toDateUtc(query.start)}`]),
        ...(query.end === undefined ? [] : [sql`at < ${DateTime.toDateUtc(query.end)}`])
      ])

    const sealOnce = Effect.gen(function*() {
      const [lock] = yield* sql<{ readonly held: boolean }>`SELECT pg_try_advisory_xact_lock(${sealLock}) AS held`
      if (lock?.held !== true) return 0
      const entries = yield* selectUnsealed()
      if (entries.length === 0) return 0
      const [head] = yield* selectHead()
      const batch = sealEntries((head?.number ?? 0) + 1, head?.hash ?? firstPreviousHash, entries)
      yield* sql`INSERT INTO audit_batches (number, previous_hash, hash, entry_ids, entry_hashes)
        VALUES (${batch.number}, ${batch.previous_hash}, ${batch.hash}, ${batch.entry_ids}::uuid[],
          ${batch.entry_hashes}::text[])`
      yield* sql`DELETE FROM audit_unsealed WHERE id = ANY (${batch.entry_ids}::uuid[])`
      return entries.length
    })

    const load = Effect.fnUntraced(function*(after: number) {
      const batches: ReadonlyArray<AuditBatch> = yield* selectBatches(after)
      const entries = yield* selectSealed(batches.flatMap(({ entry_ids }) => entry_ids))
      return { batches, entries }
    }, Effect.orDie)

    return AuditTrail.of({
      record: (entry) => Effect.orDie(insert(entry)),
      list: (query) => page(where(query), query),
      seal: Effect.orDie(sql.withTransaction(sealOnce)),
      verify: (head) =>
        Effect.gen(function*() {
          yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
          const stray = yield* selectStray()
          const { total } = yield* countUnsealed()
          return yield* checkChain({ load, head, stray: stray.map(({ id }) => id), unsealed: total })
        }).pipe(sql.withTransaction, Effect.orDie)
    })
  })
)
