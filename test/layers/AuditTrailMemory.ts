import { DateTime, Effect, Layer, Schema } from "effect"
import { type AuditBatch, checkChain, firstPreviousHash, sealEntries } from "../../src/layers/auditChain.ts"
import { AuditEntry } from "../../src/schema/AuditEntry.ts"
import { AuditTrail, sealBatchMax } from "../../src/services/AuditTrail.ts"
import { newestOf } from "./AutomationState.ts"

const Stored = Schema.parseJson(AuditEntry)
const stored = (entry: AuditEntry) => Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(entry))

const columns = ["operation", "user_id", "username", "target", "request_id", "outcome"] as const

export const AuditTrailMemory = Layer.sync(AuditTrail, () => {
  const entries: Array<AuditEntry> = []
  const batches: Array<AuditBatch> = []
  const unsealed = () => entries.slice(batches.reduce((sum, { entry_ids }) => sum + entry_ids.length, 0))
  return AuditTrail.of({
    record: (entry) => Effect.sync(() => void entries.push(stored(entry))),
    list: (query) =>
      Effect.suspend(() =>
        newestOf(
          entries.filter((entry) =>
            columns.every((column) => query[column] === undefined || entry[column] === query[column]) &&
            (query.start === undefined || DateTime.greaterThanOrEqualTo(entry.at, query.start)) &&
            (query.end === undefined || DateTime.lessThan(entry.at, query.end))
          ),
          query,
          ({ at, id }) => ({ at, id })
        )
      ),
    seal: Effect.sync(() => {
      const open = unsealed().slice(0, sealBatchMax)
      if (open.length > 0) {
        batches.push(sealEntries(batches.length + 1, batches.at(-1)?.hash ?? firstPreviousHash, open))
      }
      return open.length
    }),
    verify: (head) =>
      Effect.suspend(() =>
        checkChain({
          load: (after) => Effect.succeed({ batches: batches.slice(after), entries }),
          head,
          stray: [],
          unsealed: unsealed().length
        })
      )
  })
})
