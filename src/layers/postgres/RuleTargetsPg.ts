import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Schema } from "effect"
import { RuleId } from "../../schema/AutomationRule.ts"
import { RuleTargets } from "../../services/RuleTargets.ts"
import { Timestamp } from "./sql.ts"

export const RuleTargetsPg = Layer.effect(
  RuleTargets,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const select = SqlSchema.findAll({
      Request: Schema.Struct({ rule: RuleId, at: Timestamp }),
      Result: Schema.Struct({ client: Schema.String }),
      execute: ({ at, rule }) =>
        sql`SELECT DISTINCT client FROM actions
          WHERE status = 'active' AND (expires_at IS NULL OR expires_at > ${at}) AND origin_kind = 'rule_run'
            AND origin_id IN (SELECT id::text FROM automation_runs WHERE rule_id = ${rule})`
    })
    return RuleTargets.of({
      of: (rule) =>
        DateTime.now.pipe(
          Effect.flatMap((at) => select({ rule, at })),
          Effect.map((rows) => rows.map(({ client }) => client)),
          Effect.orDie
        )
    })
  })
)
