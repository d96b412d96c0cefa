import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { NotFound } from "../../api/problems.ts"
import { Retention } from "../../services/Retention.ts"
import { group } from "./group.ts"

export const RetentionHttp = group(
  Api,
  "retention",
  Effect.fnUntraced(function*(handlers) {
    const retention = yield* Retention
    return handlers
      .handle("config", () => retention.config)
      .handle("change", ({ payload }) =>
        retention.change(payload).pipe(
          Effect.map((impact) => ({ success: true as const, dry_run: payload.dry_run ?? false, impact })),
          Effect.catchTag("Retention/TableMissing", ({ table }) =>
            new NotFound({ detail: `The store has no table ${table}` }))
        ))
  })
)
