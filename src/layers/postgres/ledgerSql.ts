import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Schema } from "effect"
import { RuleId } from "../../schema/AutomationRule.ts"
import { RuleRun, RunId } from "../../schema/RuleRun.ts"
import { verdictOf } from "../../schema/RuleRun.ts"
import { EventSeverity } from "../../schema/ServiceEvent.ts"
import type { ActionOrder } from "../../services/ActionOrders.ts"
import type { Enforcement } from "../../services/RuleLedger.ts"
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

const isoOrNull = (instant: DateTime.Utc | null) => instant && DateTime.formatIso(instant)

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

  const endExpired = (orders: ReadonlyArray<ActionOrder>, at: DateTime.Utc) =>
    sql`WITH due AS (
        SELECT held.id FROM actions held JOIN unnest(
          ${orders.map(({ client }) => client)}::text[],
          ${orders.map(({ type }) => type)}::text[],
          ${orders.map(({ tag }) => tag ?? "")}::text[]
        ) AS wanted (client, type, tag) USING (client, type, tag)
        WHERE held.status = 'active' AND held.expires_at <= ${DateTime.toDateUtc(at)}
        ORDER BY held.client, held.type, held.tag FOR UPDATE OF held
      )
      UPDATE actions SET status = 'expired', ended_at = expires_at FROM due WHERE actions.id = due.id`

  const decodeTriggered = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ triggered: Schema.Int })))
  const orderActions = (orders: ReadonlyArray<ActionOrder>, { at, reason, run }: Enforcement) =>
    sql`WITH triggered AS (
        INSERT INTO actions AS held (
          id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, created_at, expires_at
        )
        SELECT id, type, tag, client, client_mac, 'active', ${reason}, 'rule_run', ${run},
          ${DateTime.toDateUtc(at)}::timestamptz, expires_at
        FROM unnest(
          ${orders.map(({ id }) => id)}::uuid[],
          ${orders.map(({ type }) => type)}::text[],
          ${orders.map(({ tag }) => tag ?? "")}::text[],
          ${orders.map(({ client }) => client)}::text[],
          ${orders.map(({ client_mac }) => client_mac)}::text[],
          ${orders.map(({ expires_at }) => isoOrNull(expires_at))}::timestamptz[]
        ) AS wanted (id, type, tag, client, client_mac, expires_at)
        ORDER BY client COLLATE "C", type COLLATE "C", tag COLLATE "C"
        ON CONFLICT (client, type, tag) WHERE status = 'active'
        DO UPDATE SET expires_at = excluded.expires_at, synced_at = NULL
        WHERE held.expires_at IS NOT NULL
          AND (excluded.expires_at IS NULL OR excluded.expires_at > held.expires_at)
        RETURNING 1
      )
      SELECT count(*) AS triggered FROM triggered`.pipe(
      Effect.flatMap(decodeTriggered),
      Effect.map(([{ triggered }]) => triggered)
    )

  const insertRun = SqlSchema.void({
    Request: NewRunRow,
    execute: (row) => sql`INSERT INTO automation_runs ${sql.insert(row)}`
  })

  /** The verdict on the window that a run was due for; none where the window isn't this run's any more. */
  const settle = ({ error, id, status }: RuleRun) =>
    sql`UPDATE automation_due_windows SET verdict = ${verdictOf(status)}, reason = ${error}, owner = NULL,
      lease_until = NULL WHERE run_id = ${id} AND verdict = 'running' RETURNING 1`

  return { settle, lockRule, labelOf, inCooldown, claim, forgetCooldowns, endExpired, orderActions, insertRun }
})
