import { DateTime, Effect } from "effect"
import type { AuditEntry, AuditOutcome } from "../schema/AuditEntry.ts"
import { redact } from "../schema/Redaction.ts"
import type { UserId } from "../schema/User.ts"
import { AuditTrail } from "./AuditTrail.ts"
import { Ids } from "./Ids.ts"

/** Something done outside of the operations of the API. */
export interface Act {
  /** A username; or `system:` or `cli:` and a name, which no username can be. */
  readonly by: string | null
  readonly userId?: UserId | undefined
  readonly operation: string
  readonly outcome?: AuditOutcome
  readonly target?: string | null
  readonly address?: string | null
  /** What joins entries that belong together; an id of its own unless given. */
  readonly requestId?: string | undefined
  readonly reason?: string | null
  readonly before?: unknown
  readonly after?: unknown
}

/** Records an act in the audit trail, without secrets; within a transaction it is kept exactly when that is. */
export const recordAct = Effect.fnUntraced(function*(act: Act) {
  const trail = yield* AuditTrail
  const ids = yield* Ids
  const id = yield* ids.uuid
  const entry: AuditEntry = {
    id,
    at: yield* DateTime.now,
    operation: act.operation,
    outcome: act.outcome ?? "success",
    status: null,
    user_id: act.userId ?? null,
    username: act.by,
    target: act.target ?? null,
    address: act.address ?? null,
    request_id: act.requestId ?? id,
    reason: act.reason ?? null,
    request: null,
    before: redact(act.before) ?? null,
    after: redact(act.after) ?? null
  }
  yield* trail.record(entry)
})
