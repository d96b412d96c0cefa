import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Schema } from "effect"
import { RuleId } from "../../schema/AutomationRule.ts"
import { RuleRun, RunId, verdictOf } from "../../schema/RuleRun.ts"
import { EventSeverity } from "../../schema/ServiceEvent.ts"
import { Timestamp } from "./sql.ts"

const times = {
  due_at: Schema.NullOr(Timestamp),
  window_start: Timestamp,
  window_end: Timestamp,
  started_at: Timestamp,
  finished_at: Timestamp
}

/** A run as the columns hold it. */
export const RunRow = Schema.Struct({ ...RuleRun.fields, ...times })
const NewRunRow = Schema.Struct({ ...RunRow.fields, query_params: Schema.parseJson(RuleRun.fields.query_params) })

const Client = Schema.Struct({ client: Schema.String })
const RuleAt = Schema.Struct({ rule: RuleId, at: Timestamp })
const Claim = Schema.Struct({
  rule: RuleId,
  run: RunId,
  at: Timestamp,
  until: Timestamp,
  seenAt: Timestamp,
  apartMinutes: Schema.Int,
  clients: Schema.Array(Schema.String)
})

const Label = Schema.Struct({ id: RuleId, name: Schema.String, severity: EventSeverity })

/**
 * The statements of the ledger. All lock rows in the order of client, type and tag, so that runs of any rules can
 * work on the same clients at once.
 */
export const ledgerStatements = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const labelled = sql.literal("id, draft ->> 'name' AS name, draft ->> 'severity' AS severity")

  const lockRule = SqlSchema.findOne({
    Request: RuleId,
    Result: Label,
    execute: (id) => sql`SELECT ${labelled} FROM automation_rules WHERE id = ${id} FOR SHARE`
  })

  const labelOf = SqlSchema.findOne({
    Request: RuleId,
    Result: Label,
    execute: (id) => sql`SELECT ${labelled} FROM automation_rules WHERE id = ${id}`
  })

  const inCooldown = SqlSchema.findAll({
    Request: RuleAt,
    Result: Client,
    execute: ({ at, rule }) =>
      sql`SELECT client FROM automation_cooldowns WHERE rule_id = ${rule} AND until > ${at} ORDER BY client`
  })

  const claim = SqlSchema.findAll({
    Request: Claim,
    Result: Client,
    execute: ({ apartMinutes, at, clients, rule, run, seenAt, until }) =>
      sql`WITH claimed AS (
        INSERT INTO automation_cooldowns AS held (rule_id, client, until, run_id)
        SELECT ${rule}::uuid, wanted.client, ${until}::timestamptz, ${run}::uuid
        FROM unnest(${clients}::text[]) AS wanted (client)
        WHERE NOT EXISTS (
          SELECT FROM automation_takes AS taken WHERE taken.rule_id = ${rule}::uuid AND taken.client = wanted.client
            AND taken.seen_at > ${seenAt}::timestamptz - make_interval(mins => ${apartMinutes})
            AND taken.seen_at < ${seenAt}::timestamptz + make_interval(mins => ${apartMinutes})
        )
        ORDER BY wanted.client COLLATE "C"
        ON CONFLICT (rule_id, client) DO UPDATE SET until = excluded.until, run_id = excluded.run_id
        WHERE held.until <= ${at} RETURNING client
      ), remembered AS (
        INSERT INTO automation_takes (rule_id, client, seen_at, run_id)
        SELECT ${rule}::uuid, client, ${seenAt}::timestamptz, ${run}::uuid FROM claimed
      )
      SELECT client FROM claimed`
  })

  // Clients with random MACs never come back. A day late, so that no run that is still at work misses its cooldowns,
  // and only rows that nobody holds, so that this never waits.
  const forgetCooldowns = SqlSchema.void({
    Request: RuleAt,
    execute: ({ at, rule }) =>
      sql`DELETE FROM automation_cooldowns WHERE rule_id = ${rule} AND client = ANY (ARRAY(
        SELECT client FROM automation_cooldowns WHERE rule_id = ${rule}
          AND until <= ${at}::timestamptz - interval '1 day' LIMIT 10000 FOR UPDATE SKIP LOCKED
      ))`
  })

  const insertRun = SqlSchema.void({
    Request: NewRunRow,
    execute: (row) => sql`INSERT INTO automation_runs ${sql.insert(row)}`
  })

  /** The verdict on the window that a run was due for; none where the window isn't this run's any more. */
  const settle = ({ error, id, status }: RuleRun) =>
    sql`UPDATE automation_due_windows SET verdict = ${verdictOf(status)}, reason = ${error}, owner = NULL,
      lease_until = NULL WHERE run_id = ${id} AND verdict = 'running' RETURNING 1`

  return { settle, lockRule, labelOf, inCooldown, claim, forgetCooldowns, insertRun }
})
