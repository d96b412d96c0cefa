import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { Delivery } from "../../schema/Delivery.ts"
import { NotificationRuleId } from "../../schema/NotificationRule.ts"
import { ServiceEvent } from "../../schema/ServiceEvent.ts"
import { DeliveryDone, DeliveryMissing, type DeliveryQuery, Outbox } from "../../services/Outbox.ts"
import type { EventPosition } from "../../services/ServiceEvents.ts"
import { newestPage } from "./newestPage.ts"
import { Timestamp } from "./sql.ts"

const GroupState = Schema.Struct({
  labels: Schema.Record({ key: Schema.String, value: Schema.String }),
  pending: Schema.Array(ServiceEvent),
  active: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ event: ServiceEvent, told: Schema.Boolean })
  }),
  flushAt: Schema.Number,
  notifiedAt: Schema.Number,
  sequence: Schema.Int
})
const GroupRow = Schema.Struct({ rule_id: NotificationRuleId, key: Schema.String, state: GroupState })
const DeliveryRow = Schema.Struct({
  ...Delivery.fields,
  created_at: Timestamp,
  next_attempt_at: Timestamp,
  delivered_at: Schema.NullOr(Timestamp)
})
const Counted = Schema.Array(Schema.Struct({ status: Schema.String, count: Schema.Int }))

const decodeGroups = Schema.decodeUnknown(Schema.Array(GroupRow))
const decodeDeliveries = Schema.decodeUnknown(Schema.Array(DeliveryRow))
const decodeCounts = Schema.decodeUnknown(Counted)
const encodeState = Schema.encodeSync(GroupState)
const encodeDeliveries = Schema.encodeSync(Schema.parseJson(Schema.Array(Delivery)))

const iso = DateTime.formatIso

/** The dispatcher's state and the deliveries in Postgres; `save` and what it follows share a transaction. */
export const OutboxPg = Layer.effect(
  Outbox,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const page = yield* newestPage({
      table: "notification_deliveries",
      time: "created_at",
      row: DeliveryRow,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const where = ({ hidden = [], rule_id, status }: DeliveryQuery) =>
      sql.and([
        sql`event ->> 'type' <> ALL (${hidden}::text[])`,
        ...(status === undefined ? [] : [sql`status = ${status}`]),
        ...(rule_id === undefined ? [] : [sql`rule_id = ${rule_id}::uuid`])
      ])

    return Outbox.of({
      begin: sql<{ readonly position: EventPosition | null }>`
        SELECT position FROM notification_cursor FOR UPDATE SKIP LOCKED
      `.pipe(
        Effect.map(([row]) => row === undefined ? Option.none() : Option.some({ position: row.position ?? undefined })),
        Effect.orDie
      ),
      groups: Effect.fn("Outbox.groups")(function*({ alerts, dueAt, keys }) {
        const [first, second] = [
          (pairs: ReadonlyArray<readonly [string, string]>) => pairs.map(([one]) => one),
          (pairs: ReadonlyArray<readonly [string, string]>) => pairs.map(([, two]) => two)
        ]
        const rows = yield* sql`SELECT rule_id, key, state FROM notification_groups AS held
          WHERE due_at <= ${iso(dueAt)}::timestamptz
            OR (rule_id, key) IN (SELECT * FROM unnest(${first(keys)}::uuid[], ${second(keys)}::text[]))
            OR EXISTS (SELECT FROM unnest(${first(alerts)}::uuid[], ${second(alerts)}::text[]) AS asked (rule, alert)
              WHERE asked.rule = held.rule_id AND held.alerts @> ARRAY[asked.alert])
          ORDER BY rule_id, key`.pipe(Effect.flatMap(decodeGroups))
        return rows.map(({ key, rule_id, state }) => ({ rule: rule_id, key, group: state }))
      }, Effect.orDie),
      save: Effect.fn("Outbox.save")(function*({ deliveries, groups, over, position }) {
        yield* sql`UPDATE notification_cursor SET position = ${position ?? null}`
        for (const { key, rule } of over) {
          yield* sql`DELETE FROM notification_groups WHERE rule_id = ${rule} AND key = ${key}`
        }
        for (const { group, key, rule } of groups) {
          const state = JSON.stringify(encodeState(group))
          const due = new Date(group.flushAt)
          // The rule may have gone meanwhile, and its groups with it.
          yield* sql`INSERT INTO notification_groups (rule_id, key, due_at, alerts, state)
            SELECT id, ${key}, ${due}::timestamptz, ${Object.keys(group.active)}::text[], ${state}::jsonb
            FROM notification_rules WHERE id = ${rule}::uuid FOR KEY SHARE
            ON CONFLICT (rule_id, key) DO UPDATE
              SET due_at = excluded.due_at, alerts = excluded.alerts, state = excluded.state`
        }
        if (deliveries.length === 0) return
        yield* sql`INSERT INTO notification_deliveries (id, rule_id, group_key, status, reason, event, notification,
            attempts, last_error, created_at, next_attempt_at, delivered_at)
          SELECT id, rule_id, group_key, status, reason, event, notification, attempts, last_error, created_at,
            next_attempt_at, delivered_at
          FROM jsonb_array_elements(${encodeDeliveries(deliveries)}::jsonb) WITH ORDINALITY AS listed (item, place),
            jsonb_populate_record(NULL::notification_deliveries, item)
          ORDER BY place`
      }, Effect.orDie),
      claim: Effect.fn("Outbox.claim")(function*({ at, limit, readyBefore, until }) {
        const rows = yield* sql`WITH waiting AS (
            SELECT DISTINCT rule_id, group_key FROM notification_deliveries
            WHERE status = 'pending' AND next_attempt_at > ${iso(at)}::timestamptz
          ), ready AS (
            SELECT seq, created_at, attempts FROM notification_deliveries AS held
            WHERE status = 'pending' AND NOT EXISTS (
              SELECT FROM waiting WHERE waiting.rule_id = held.rule_id AND waiting.group_key = held.group_key
            )
            ORDER BY seq LIMIT ${limit} FOR UPDATE SKIP LOCKED
          ), chosen AS (
            SELECT seq FROM ready WHERE (SELECT count(*) >= ${limit} OR min(created_at) <= ${
          iso(readyBefore)
        }::timestamptz
              OR max(attempts) > 0 FROM ready)
          ), claimed AS (
            UPDATE notification_deliveries SET next_attempt_at = ${iso(until)}::timestamptz
            WHERE seq IN (SELECT seq FROM chosen) RETURNING *
          ) SELECT * FROM claimed ORDER BY seq`.pipe(Effect.flatMap(decodeDeliveries))
        return rows
      }, Effect.orDie),
      delivered: (ids, at) =>
        Effect.orDie(Effect.asVoid(
          sql`UPDATE notification_deliveries SET status = 'delivered', delivered_at = ${iso(at)}::timestamptz,
            attempts = attempts + 1, last_error = ''
            WHERE id = ANY (${ids}::uuid[]) AND status = 'pending'`
        )),
      failed: (failures, error, triesMax) =>
        Effect.orDie(Effect.asVoid(
          sql`UPDATE notification_deliveries AS held SET attempts = attempts + 1, last_error = ${error},
            next_attempt_at = asked.next,
            status = CASE WHEN attempts + 1 >= ${triesMax}::int THEN 'dead' ELSE 'pending' END
            FROM unnest(${failures.map(({ id }) => id)}::uuid[], ${
            failures.map(({ next }) => iso(next))
          }::timestamptz[]) AS asked (id, next)
            WHERE held.id = asked.id AND status = 'pending'`
        )),
      release: (ids, at) =>
        Effect.orDie(Effect.asVoid(
          sql`UPDATE notification_deliveries SET next_attempt_at = ${iso(at)}::timestamptz
            WHERE id = ANY (${ids}::uuid[]) AND status = 'pending'`
        )),
      hasten: (at) =>
        Effect.orDie(Effect.asVoid(
          sql`UPDATE notification_deliveries SET next_attempt_at = ${iso(at)}::timestamptz
            WHERE status = 'pending' AND attempts > 0 AND next_attempt_at > ${iso(at)}::timestamptz`
        )),
      list: (query) => page(where(query), query),
      retry: Effect.fn("Outbox.retry")(function*(id, at) {
        const [row] = yield* sql`UPDATE notification_deliveries SET status = 'pending',
            attempts = CASE status WHEN 'pending' THEN attempts ELSE 0 END, next_attempt_at = ${iso(at)}::timestamptz
          WHERE id = ${id}::uuid AND status <> 'delivered' RETURNING *`.pipe(
          Effect.flatMap(decodeDeliveries),
          Effect.orDie
        )
        if (row !== undefined) return row
        const found = yield* Effect.orDie(sql`SELECT 1 FROM notification_deliveries WHERE id = ${id}::uuid`)
        return yield* found.length === 0 ? new DeliveryMissing({ id }) : new DeliveryDone({ id })
      }),
      counts: sql`SELECT status, count(*) AS count FROM notification_deliveries GROUP BY status`.pipe(
        Effect.flatMap(decodeCounts),
        Effect.map((rows) => {
          const of = (status: string) => rows.find((row) => row.status === status)?.count ?? 0
          return { queued: of("pending"), delivered: of("delivered"), dead: of("dead"), dropped: of("dropped") }
        }),
        Effect.orDie
      ),
      tidy: Effect.fn("Outbox.tidy")(function*(before, queuedMax) {
        yield* sql`DELETE FROM notification_deliveries WHERE status <> 'pending' AND created_at < ${
          iso(before)
        }::timestamptz`
        yield* sql`UPDATE notification_deliveries SET status = 'dropped', last_error = 'the outbox was full'
          WHERE status = 'pending' AND seq <= (
            SELECT seq FROM notification_deliveries WHERE status = 'pending' ORDER BY seq DESC OFFSET ${queuedMax} LIMIT 1
          )`
      }, Effect.orDie)
    })
  })
)
