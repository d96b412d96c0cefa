import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { AuditTrail } from "../../services/AuditTrail.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"

const headIncomplete = () => {
  const message = "Expected batch and hash together"
  return new InvalidRequest({
    detail: `The query is not valid at /batch: ${message}`,
    errors: [{ in: "query", pointer: "/batch", message }]
  })
}

export const AuditHttp = group(
  Api,
  "audit",
  Effect.fnUntraced(function*(handlers) {
    const trail = yield* AuditTrail
    return handlers
      .handle(
        "list",
        ({ urlParams }) => trail.list(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
      )
      .handle("verify", ({ urlParams: { batch, hash } }) => {
        if ((batch === undefined) !== (hash === undefined)) return headIncomplete()
        return trail.verify(batch === undefined || hash === undefined ? undefined : { batch, hash })
      })
  })
)
