import { Schema } from "effect"
import { UserId } from "./User.ts"

/** `begun` stands before a change that is not one transaction; its end follows under the same request id. */
export const AuditOutcome = Schema.Literal("begun", "success", "failure")
export type AuditOutcome = typeof AuditOutcome.Type

/** Who did what to what, and what came of it. Secrets are never in it. */
export const AuditEntry = Schema.Struct({
  id: Schema.UUID,
  at: Schema.DateTimeUtc,
  operation: Schema.String.annotations({ description: "operationId, or the name of what the service did by itself" }),
  outcome: AuditOutcome,
  status: Schema.NullOr(Schema.Int).annotations({ description: "HTTP status of the answer" }),
  user_id: Schema.NullOr(UserId),
  username: Schema.NullOr(Schema.String).annotations({
    description: "of a known user; or what acted without one: `system:scheduler`, `cli:NAME` with the system's user"
  }),
  target: Schema.NullOr(Schema.String).annotations({ description: "id of the record that was acted on" }),
  address: Schema.NullOr(Schema.String).annotations({ description: "address of the caller" }),
  request_id: Schema.String,
  reason: Schema.NullOr(Schema.String),
  request: Schema.NullOr(Schema.Unknown).annotations({ description: "body of the request, secrets replaced" }),
  before: Schema.NullOr(Schema.Unknown),
  after: Schema.NullOr(Schema.Unknown)
}).annotations({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** Something that is not as it was sealed; `entry` names the row where it is one row that is concerned. */
export const AuditFault = Schema.Struct({
  kind: Schema.Literal(
    "entry_changed",
    "entry_missing",
    "entry_added",
    "batch_changed",
    "batch_missing",
    "head_missing"
  ),
  batch: Schema.NullOr(Schema.Int),
  entry: Schema.NullOr(Schema.String)
}).annotations({ identifier: "AuditFault" })
export type AuditFault = typeof AuditFault.Type

/** The last batch of the chain; kept elsewhere it proves later that nothing before it was changed or cut off. */
export const AuditHead = Schema.Struct({ batch: Schema.Int, hash: Schema.String })
export type AuditHead = typeof AuditHead.Type

export const AuditVerdict = Schema.Struct({
  valid: Schema.Boolean,
  batches: Schema.Int,
  entries: Schema.Int.annotations({ description: "sealed entries" }),
  unsealed: Schema.Int.annotations({ description: "entries of the last second, not sealed yet" }),
  head: Schema.NullOr(AuditHead),
  faults: Schema.Array(AuditFault).annotations({ description: "the first 100" })
}).annotations({ identifier: "AuditVerdict" })
export type AuditVerdict = typeof AuditVerdict.Type
