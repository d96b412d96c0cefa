import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { RuleId } from "../../schema/AutomationRule.ts"
import { DueWindow } from "../../schema/DueWindow.ts"
import { RuleSchedule } from "../../schema/Schedule.ts"
import { DueWindows, type Span } from "../../services/DueWindows.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"

const SpanRow = Schema.Struct({
  id: Schema.Int,
  rule_id: RuleId,
  schedule: RuleSchedule,
  since: Timestamp,
  until: Schema.NullOr(Timestamp),
  settled: Timestamp
})

const WindowRow = Schema.Struct({
  ...DueWindow.fields,
  id: Schema.UUID,
  due_at: Timestamp,
  through: Schema.NullOr(Timestamp)
})

const Due = Schema.Struct({ due_at: Timestamp })
const Running = Schema.Struct({ rule_id: RuleId, due_at: Timestamp })
const BeatRow = Schema.Struct({ node: Schema.String, at: Timestamp, lag_ms: Schema.Int })
const decodeTotal = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ total: Schema.Int })))

const spanOf = ({ rule_id, ...rest }: typeof SpanRow.Type): Span => ({ ...rest, rule: rule_id })
const iso = DateTime.formatIso
const daysKept = { windows: 90, takes: 45 }

export const DueWindowsPg = Layer.effect(
  DueWindows,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const selectSpans = SqlSchema.findAll({
      Request: Schema.Void,
      Result: SpanRow,
      execute: () => sql`SELECT * FROM automation_spans WHERE until IS NULL OR settled < until ORDER BY id`
    })
    const selectMissed = SqlSchema.findAll({
      Request: Schema.Any,
      Result: Due,
      execute: (statement: Fragment) => sql`${statement}`
    })
    const selectRunning = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Running,
      execute: () => sql`SELECT rule_id, due_at FROM automation_due_windows WHERE verdict = 'running' ORDER BY due_at`
    })
    const selectBeat = SqlSchema.findOne({
      Request: Schema.Void,
      Result: BeatRow,
      execute: () => sql`SELECT node, at, lag_ms FROM automation_scheduler`
    })
    const page = yield* newestPage({
      table: "automation_due_windows",
      time: "due_at",
      row: WindowRow,
      position: ({ due_at, id }) => ({ at: due_at, id })
    })

    return DueWindows.of({
      spans: Effect.map(Effect.orDie(selectSpans(undefined)), (rows) => rows.map(spanOf)),
      // The span is locked, so that no window of it is taken once the change of its rule was answered.
      claim: Effect.fn("DueWindows.claim")(function*(span, due, { leaseUntil, owner, run }) {
        const rows = yield* sql`
          WITH held AS (SELECT id, rule_id FROM automation_spans WHERE id = ${span.id} AND until IS NULL FOR UPDATE),
          settled AS (
            UPDATE automation_spans SET settled = greatest(settled, ${iso(due)}::timestamptz)
            WHERE id IN (SELECT id FROM held)
          )
          INSERT INTO automation_due_windows (rule_id, due_at, verdict, run_id, owner, lease_until)
          SELECT rule_id, ${iso(due)}::timestamptz, 'running', ${run}::uuid, ${owner}, ${iso(leaseUntil)}::timestamptz
          FROM held ON CONFLICT DO NOTHING RETURNING 1`.pipe(Effect.orDie)
        return rows.length === 1
      }),
      pass: Effect.fn("DueWindows.pass")(function*(span, { reason, settled, verdict, windows }) {
        yield* sql`
          INSERT INTO automation_due_windows (rule_id, due_at, through, verdict, reason)
          SELECT automation_rules.id, due_at, through, ${verdict}, ${reason}
          FROM automation_rules, unnest(
            ${windows.map(({ due_at }) => iso(due_at))}::timestamptz[],
            ${windows.map(({ through }) => through && iso(through))}::timestamptz[]
          ) AS passed (due_at, through)
          WHERE automation_rules.id = ${span.rule}
          ON CONFLICT DO NOTHING`
        yield* sql`UPDATE automation_spans SET settled = greatest(settled, ${iso(settled)}::timestamptz)
          WHERE id = ${span.id}`
        yield* sql`DELETE FROM automation_spans WHERE id = ${span.id} AND settled >= until`
      }, (effect) => Effect.orDie(sql.withTransaction(effect))),
      renew: (owner, leaseUntil) =>
        Effect.asVoid(Effect.orDie(
          sql`UPDATE automation_due_windows SET lease_until = ${iso(leaseUntil)}::timestamptz
            WHERE verdict = 'running' AND owner = ${owner}`
        )),
      release: (run, verdict, reason) =>
        sql`UPDATE automation_due_windows SET verdict = ${verdict}, reason = ${reason}, run_id = NULL, owner = NULL,
          lease_until = NULL WHERE run_id = ${run} AND verdict = 'running' RETURNING 1`.pipe(
          Effect.orDie,
          Effect.map((rows) => rows.length === 1)
        ),
      abandon: (now) =>
        sql`UPDATE automation_due_windows SET verdict = 'missed', reason = 'the node that ran it is gone',
          run_id = NULL, owner = NULL, lease_until = NULL
          WHERE verdict = 'running' AND lease_until < ${iso(now)}::timestamptz RETURNING 1`.pipe(
          Effect.orDie,
          Effect.map((rows) => rows.length)
        ),
      list: (rule, { verdict, ...request }) =>
        Effect.map(
          page(
            verdict === undefined ? sql`rule_id = ${rule}` : sql`rule_id = ${rule} AND verdict = ${verdict}`,
            request
          ),
          (found) => ({ ...found, items: found.items.map(({ id: _, ...window }) => window) })
        ),
      missed: Effect.fn("DueWindows.missed")(function*(rule, { after, limit, through }) {
        const where = sql`rule_id = ${rule} AND verdict IN ('missed', 'failed') AND through IS NULL
          AND due_at > ${iso(after)}::timestamptz AND due_at <= ${iso(through)}::timestamptz`
        const rows = yield* selectMissed(
          sql`SELECT due_at FROM automation_due_windows WHERE ${where} ORDER BY due_at LIMIT ${limit}`
        )
        const [{ total }] = yield* Effect.flatMap(
          sql`SELECT count(*) AS total FROM automation_due_windows WHERE ${where}`,
          decodeTotal
        )
        return { due: rows.map(({ due_at }) => due_at), total }
      }, Effect.orDie),
      reclaim: (rule, due, { leaseUntil, owner, run }) =>
        sql`UPDATE automation_due_windows SET verdict = 'running', reason = '', run_id = ${run}, owner = ${owner},
          lease_until = ${iso(leaseUntil)}::timestamptz
          WHERE rule_id = ${rule} AND due_at = ${iso(due)}::timestamptz AND verdict IN ('missed', 'failed')
          AND through IS NULL RETURNING 1`.pipe(Effect.orDie, Effect.map((rows) => rows.length === 1)),
      running: Effect.orDie(selectRunning(undefined)),
      beat: ({ at, lagMillis, node }) =>
        Effect.asVoid(Effect.orDie(
          sql`INSERT INTO automation_scheduler (node, at, lag_ms) VALUES (${node}, ${
            iso(at)
          }::timestamptz, ${lagMillis})
            ON CONFLICT (sole) DO UPDATE SET node = excluded.node, at = excluded.at, lag_ms = excluded.lag_ms`
        )),
      latestBeat: Effect.orDie(Effect.map(
        selectBeat(undefined),
        Option.match({
          onNone: () => undefined,
          onSome: ({ at, lag_ms, node }) => ({ at, node, lagMillis: lag_ms })
        })
      )),
      forget: (now) =>
        Effect.all([
          sql`DELETE FROM automation_spans WHERE settled >= until`,
          sql`DELETE FROM automation_due_windows WHERE verdict <> 'running'
            AND due_at < ${iso(now)}::timestamptz - make_interval(days => ${daysKept.windows})`,
          sql`DELETE FROM automation_takes
            WHERE seen_at < ${iso(now)}::timestamptz - make_interval(days => ${daysKept.takes})`
        ], { discard: true }).pipe(Effect.orDie)
    })
  })
)
