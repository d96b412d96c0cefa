import { Context, type DateTime, type Effect } from "effect"
import type { AuditEntry, AuditHead, AuditOutcome, AuditVerdict } from "../schema/AuditEntry.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"

export interface AuditQuery extends PageRequest {
  readonly operation?: string | undefined
  readonly user_id?: UserId | undefined
  readonly username?: string | undefined
  readonly target?: string | undefined
  readonly request_id?: string | undefined
  readonly outcome?: AuditOutcome | undefined
  readonly start?: DateTime.Utc | undefined
  readonly end?: DateTime.Utc | undefined
}

/** Most entries that one batch seals. */
export const sealBatchMax = 500

/**
 * The append-only record of what was done. An entry that is recorded within a transaction is kept exactly when the
 * transaction is. Sealed entries can be neither changed nor removed without `verify` naming them.
 */
export class AuditTrail extends Context.Tag("services/AuditTrail")<
  AuditTrail,
  {
    readonly record: (entry: AuditEntry) => Effect.Effect<void>
    /** Newest first. */
    readonly list: (query: AuditQuery) => Effect.Effect<Page<AuditEntry>, InvalidCursor>
    /** Chains at most `sealBatchMax` entries that are not chained yet, and gives how many; one caller at a time. */
    readonly seal: Effect.Effect<number>
    /** Computes the chain anew; with a `head` that was seen before, also whether that is still part of it. */
    readonly verify: (head: AuditHead | undefined) => Effect.Effect<AuditVerdict>
  }
>() {}
