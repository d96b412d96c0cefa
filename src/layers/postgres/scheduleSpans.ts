import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Schema } from "effect"
import type { AutomationRule } from "../../schema/AutomationRule.ts"
import { RuleSchedule } from "../../schema/Schedule.ts"

const encode = Schema.encodeSync(Schema.parseJson(RuleSchedule))

/**
 * Makes the open span of a rule, of which there is one while it is enabled and has a schedule, follow the rule at the
 * time of its latest change; in the transaction of the change.
 */
export const makeRespan = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    Effect.fnUntraced(function*({ enabled, id, schedule, updated_at }: AutomationRule) {
      const at = DateTime.formatIso(updated_at)
      const text = encode(schedule)
      const scheduled = enabled && schedule.type !== "manual"
      const outdated = scheduled ? sql`schedule <> ${text}::jsonb` : sql`true`
      yield* sql`UPDATE automation_spans SET until = greatest(since, ${at}::timestamptz)
      WHERE rule_id = ${id} AND until IS NULL AND ${outdated}`
      if (!scheduled) return
      yield* sql`INSERT INTO automation_spans (rule_id, schedule, since, settled)
      VALUES (${id}, ${text}::jsonb, ${at}::timestamptz, ${at}::timestamptz)
      ON CONFLICT (rule_id) WHERE until IS NULL DO NOTHING`
    })
)
