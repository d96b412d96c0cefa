import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Schema } from "effect"
import { RuleId } from "../../schema/AutomationRule.ts"
import { RuleRun, RunId } from "../../schema/RuleRun.ts"
import { Timestamp } from "./sql.ts"

const times = { window_start: Timestamp, window_end: Timestamp, started_at: Timestamp, finished_at: Timestamp }

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
  clients: Schema.Array(Schema.String)
})

/**
 * The statements of the ledger. All lock rows in the order of client, type and tag, so that runs of any rules can
 * work on the same clients at once.
 */
export const ledgerStatements = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const lockRule = SqlSchema.findOne({
    Request: RuleId,
    Result: Schema.Struct({ id: RuleId }),
    execute: (id) => sql`SELECT id FROM automation_rules WHERE id = ${id} FOR SHARE`
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
    execute: ({ at, clients, rule, run, until }) =>
      sql`INSERT INTO automation_cooldowns AS held (rule_id, client, until, run_id)
        SELECT ${rule}::uuid, wanted.client, ${until}::timestamptz, ${run}::uuid
        FROM unnest(${clients}::text[]) AS wanted (client) ORDER BY wanted.client COLLATE "C"
        ON CONFLICT (rule_id, client) DO UPDATE SET until = excluded.until, run_id = excluded.run_id
        WHERE held.until <= ${at} RETURNING client`
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

  return { lockRule, inCooldown, claim, forgetCooldowns, insertRun }
})
