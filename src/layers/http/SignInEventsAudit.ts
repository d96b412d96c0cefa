import { Effect, Layer } from "effect"
import { UserId } from "../../schema/User.ts"
import { AuditTrail } from "../../services/AuditTrail.ts"
import { Ids } from "../../services/Ids.ts"
import { recordAct } from "../../services/recordAct.ts"
import { type SignInEvent, SignInEvents } from "../../services/SignInEvents.ts"
import { CurrentRequest, note } from "./CurrentRequest.ts"

const failures: ReadonlyArray<SignInEvent["type"]> = [
  "login.failed",
  "login.refused",
  "login.locked",
  "login.rate_limited",
  "mfa.failed"
]

/**
 * Keeps each event in the audit trail, joined to the request that it is of, and writes it to the log. A request of a
 * stranger is put down to an account only where one is known: what strangers type may be a password.
 */
export const SignInEventsAudit = Layer.effect(
  SignInEvents,
  Effect.gen(function*() {
    const context = yield* Effect.context<AuditTrail | Ids>()
    return SignInEvents.of({
      publish: Effect.fnUntraced(function*({ address, detail, type, userId, username }) {
        const facts = yield* CurrentRequest
        const id = userId === undefined ? undefined : UserId.make(userId)
        if (id !== undefined && username !== undefined) yield* note({ account: { id, username } })
        yield* Effect.annotateLogs(Effect.logInfo("sign-in"), {
          event: type,
          user_id: userId ?? "-",
          username: username ?? "-",
          address,
          ...detail
        })
        yield* recordAct({
          by: username ?? null,
          userId: id,
          operation: type,
          outcome: failures.includes(type) ? "failure" : "success",
          address,
          requestId: facts.operation === undefined ? undefined : facts.id,
          after: detail
        }).pipe(Effect.provide(context))
      })
    })
  })
)
