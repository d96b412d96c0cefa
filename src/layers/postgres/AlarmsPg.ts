import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { Alarm, AlarmId, AlarmTransition } from "../../schema/Alarm.ts"
import { alarmEvents } from "../../services/alarmEvents.ts"
import { acknowledge, type AlarmChange, observe, recentSince, resolve } from "../../services/AlarmRules.ts"
import { AlarmMissing, type AlarmQuery, AlarmResolved, Alarms } from "../../services/Alarms.ts"
import { conditionAlarm } from "../../services/ConditionAlarm.ts"
import { ServiceEvents } from "../../services/ServiceEvents.ts"
import { newestPage } from "./newestPage.ts"
import { ServiceEventsPg } from "./ServiceEventsPg.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({
  ...Alarm.fields,
  opened_at: Timestamp,
  last_seen_at: Timestamp,
  acknowledged_at: Schema.NullOr(Timestamp),
  resolved_at: Schema.NullOr(Timestamp)
})
const Told = Schema.Struct({ transition: AlarmTransition })
const encodeAlarms = Schema.encodeSync(Schema.parseJson(Schema.Array(Alarm)))
const encodeTransitions = Schema.encodeSync(Schema.parseJson(Schema.Array(AlarmTransition)))
const decodeBatch = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ batch: Schema.NullOr(Schema.Int) })))

const iso = DateTime.formatIso
const batchMax = 1000
const uuid = () => globalThis.crypto.randomUUID()

export const AlarmsPg = Layer.effect(
  Alarms,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const events = yield* ServiceEvents
    const select = SqlSchema.findAll({
      Request: Schema.Any,
      Result: Row,
      execute: (statement: Fragment) => sql`${statement}`
    })
    const selectOne = SqlSchema.findOne({
      Request: AlarmId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM automation_alarms WHERE id = ${id}`
    })
    const lockOne = SqlSchema.findOne({
      Request: AlarmId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM automation_alarms WHERE id = ${id} FOR UPDATE`
    })
    const selectBatch = SqlSchema.findAll({
      Request: Schema.Int,
      Result: Told,
      execute: (batch) => sql`SELECT transition FROM alarm_transition_outbox WHERE batch = ${batch} ORDER BY seq`
    })
    const page = yield* newestPage({
      table: "automation_alarms",
      time: "opened_at",
      row: Row,
      position: ({ id, opened_at }) => ({ at: opened_at, id })
    })

    const write = Effect.fnUntraced(function*(change: AlarmChange) {
      const { alarms, transitions } = change
      if (alarms.length > 0) {
        yield* sql`INSERT INTO automation_alarms
          SELECT * FROM json_populate_recordset(NULL::automation_alarms, ${encodeAlarms(alarms)}::json)
          ON CONFLICT (id) DO UPDATE SET protocol = excluded.protocol, status = excluded.status,
            present = excluded.present, total_requests = excluded.total_requests, unique_ips = excluded.unique_ips,
            count = excluded.count, flaps = excluded.flaps, last_seen_at = excluded.last_seen_at,
            acknowledged_at = excluded.acknowledged_at, acknowledged_by = excluded.acknowledged_by,
            comment = excluded.comment, resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by`
      }
      if (transitions.length > 0) {
        yield* sql`INSERT INTO alarm_transition_outbox (transition)
          SELECT * FROM json_array_elements(${encodeTransitions(transitions)}::json)`
        yield* events.publish(alarmEvents(change))
      }
    })

    const known = (rule: string, since: DateTime.Utc) =>
      sql`rule_id = ${rule} AND (status <> 'resolved' OR resolved_at > ${iso(since)}::timestamptz)`

    const where = ({ client, end, kind, rule_id, severity, start, status }: AlarmQuery) =>
      sql.and([
        sql`true`,
        ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
        ...(status === undefined ? [] : [sql`status = ${status}`]),
        ...(rule_id === undefined ? [] : [sql`rule_id = ${rule_id}`]),
        ...(client === undefined ? [] : [sql`client = ${client}`]),
        ...(severity === undefined ? [] : [sql`severity = ${severity}`]),
        ...(start === undefined ? [] : [sql`(resolved_at IS NULL OR resolved_at >= ${iso(start)}::timestamptz)`]),
        ...(end === undefined ? [] : [sql`opened_at <= ${iso(end)}::timestamptz`])
      ])

    const locked = (id: AlarmId) =>
      Effect.flatMap(
        Effect.orDie(lockOne(id)),
        Option.match({ onNone: () => Effect.fail(new AlarmMissing({ id })), onSome: Effect.succeed })
      )
    const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchTag(sql.withTransaction(effect), "SqlError", Effect.die)

    const nextBatch = Effect.gen(function*() {
      const [{ batch }] = yield* Effect.flatMap(
        sql`SELECT min(batch) AS batch FROM alarm_transition_outbox`,
        decodeBatch
      )
      if (batch !== null) return batch
      const [taken] = yield* Effect.flatMap(
        sql`WITH next AS (
          UPDATE alarm_transition_outbox SET batch = fresh.batch
          FROM (SELECT nextval('alarm_transition_batches') AS batch) AS fresh
          WHERE seq IN (SELECT seq FROM alarm_transition_outbox ORDER BY seq LIMIT ${batchMax} FOR UPDATE SKIP LOCKED)
          RETURNING alarm_transition_outbox.batch
        ) SELECT max(batch) AS batch FROM next`,
        decodeBatch
      )
      return taken.batch
    }).pipe(Effect.orDie)

    return Alarms.of({
      get: (id) =>
        Effect.flatMap(
          Effect.orDie(selectOne(id)),
          Option.match({ onNone: () => Effect.fail(new AlarmMissing({ id })), onSome: Effect.succeed })
        ),
      list: (query) => page(where(query), query),
      observe: Effect.fn("Alarms.observe")(function*(observation) {
        const { id } = observation.rule
        yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`alarms ${id}`}, 0))`
        const rule = yield* sql`SELECT 1 FROM automation_rules WHERE id = ${id}`
        if (rule.length === 0) return
        const alarms = yield* select(
          sql`SELECT * FROM automation_alarms WHERE ${known(id, recentSince(observation))} ORDER BY client FOR UPDATE`
        )
        yield* write(observe(alarms, observation, uuid))
      }, (effect) => Effect.orDie(sql.withTransaction(effect))),
      note: Effect.fn("Alarms.note")(function*(condition) {
        const { kind, subject } = condition
        yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`alarms ${kind} ${subject}`}, 0))`
        const [open] = yield* select(
          sql`SELECT * FROM automation_alarms
            WHERE kind = ${kind} AND client = ${subject} AND status <> 'resolved' FOR UPDATE`
        )
        const change = conditionAlarm(open, condition, uuid)
        yield* write(change)
        return change.transitions[0]
      }, (effect) => Effect.orDie(sql.withTransaction(effect))),
      acknowledge: (id, move) =>
        inTransaction(Effect.gen(function*() {
          const alarm = yield* locked(id)
          if (alarm.status === "resolved") return yield* new AlarmResolved({ id })
          const change = acknowledge(alarm, move, uuid)
          yield* Effect.orDie(write(change))
          return change.alarms[0]!
        })),
      resolve: (id, move) =>
        inTransaction(Effect.gen(function*() {
          const alarm = yield* locked(id)
          if (alarm.status === "resolved") return alarm
          const change = resolve(alarm, move, uuid)
          yield* Effect.orDie(write(change))
          return change.alarms[0]!
        })),
      resolveOrphans: (at) =>
        Effect.gen(function*() {
          const alarms = yield* select(
            sql`SELECT * FROM automation_alarms AS alarm
              WHERE status <> 'resolved' AND rule_id IS NOT NULL
              AND NOT EXISTS (SELECT FROM automation_rules WHERE id = alarm.rule_id) LIMIT 1000 FOR UPDATE`
          )
          for (const alarm of alarms) {
            yield* write(resolve(alarm, { by: null, at, requestId: "", comment: "the rule was deleted" }, uuid))
          }
        }).pipe(sql.withTransaction, Effect.orDie),
      tell: (hand) =>
        Effect.gen(function*() {
          const batch = yield* nextBatch
          if (batch === null) return 0
          const rows = yield* Effect.orDie(selectBatch(batch))
          yield* hand(`alarm-transitions-${batch}`, rows.map(({ transition }) => transition))
          yield* Effect.orDie(sql`DELETE FROM alarm_transition_outbox WHERE batch = ${batch}`)
          return rows.length
        })
    })
  })
).pipe(Layer.provide(ServiceEventsPg))
