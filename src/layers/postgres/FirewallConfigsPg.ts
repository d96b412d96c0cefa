import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { FirewallConfigId } from "../../schema/FirewallConfig.ts"
import { firewallEvents } from "../../services/firewall/events.ts"
import {
  FirewallConfigMissing,
  FirewallConfigs,
  type FirewallRecord,
  type FirewallVersion,
  ownedBy,
  TableOwned
} from "../../services/FirewallConfigs.ts"
import { RevisionMismatch } from "../../services/Revision.ts"
import { ServiceEvents } from "../../services/ServiceEvents.ts"
import { encodeDocument, RevisionRow, Row, toStanding, toSummary } from "./firewallConfigRow.ts"
import { newestPage } from "./newestPage.ts"
import { ServiceEventsPg } from "./ServiceEventsPg.ts"
import { isExpectedIn } from "./sql.ts"

// Any constant serves, as long as all nodes of an installation use the same: the bytes of "nftfw".
const lockKey = 0x6e66746677

const columns = "version, name, description, ruleset, checksum, comment, created_by, created_at"

/** Saved configurations in Postgres. `exclusively` holds a session advisory lock on a connection of its own. */
export const FirewallConfigsPg = Layer.effect(
  FirewallConfigs,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const queue = yield* Effect.makeSemaphore(1)
    const events = yield* ServiceEvents

    const selectOne = SqlSchema.findOne({
      Request: FirewallConfigId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM firewall_configs WHERE id = ${id}`
    })
    const lockOne = SqlSchema.findOne({
      Request: FirewallConfigId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM firewall_configs WHERE id = ${id} FOR UPDATE`
    })
    const selectStandings = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () =>
        sql`SELECT * FROM firewall_configs
          WHERE status IN ('active', 'pending_confirmation') OR intent IS NOT NULL ORDER BY id`
    })
    const selectRevisions = SqlSchema.findAll({
      Request: FirewallConfigId,
      Result: RevisionRow,
      execute: (id) =>
        sql`SELECT ${sql.literal(columns)} FROM firewall_revisions WHERE config_id = ${id} ORDER BY version DESC`
    })
    const selectRevision = SqlSchema.findOne({
      Request: Schema.Struct({ id: FirewallConfigId, version: Schema.Int }),
      Result: RevisionRow,
      execute: ({ id, version }) =>
        sql`SELECT ${sql.literal(columns)} FROM firewall_revisions
          WHERE config_id = ${id} AND version = ${version}`
    })
    const selectOwner = SqlSchema.findOne({
      Request: Schema.Struct({ id: FirewallConfigId, tables: Schema.Array(Schema.String) }),
      Result: Schema.Struct({ name: Schema.String, config_id: FirewallConfigId }),
      execute: ({ id, tables }) =>
        sql`SELECT name, config_id FROM firewall_tables
          WHERE config_id <> ${id} AND name = ANY(${tables as Array<string>}) ORDER BY name LIMIT 1`
    })
    const page = yield* newestPage({
      table: "firewall_configs",
      time: "created_at",
      row: Row,
      position: ({ created_at, id }) => ({ at: created_at, id })
    })

    const orMissing = <A>(id: string, row: Option.Option<A>): Effect.Effect<A, FirewallConfigMissing> =>
      Option.match(row, { onNone: () => Effect.fail(new FirewallConfigMissing({ id })), onSome: Effect.succeed })
    const find = (id: FirewallConfigId) => Effect.flatMap(Effect.orDie(selectOne(id)), (row) => orMissing(id, row))
    const revision = Effect.fnUntraced(function*(id: FirewallConfigId, version: number) {
      return yield* orMissing(id, yield* Effect.orDie(selectRevision({ id, version })))
    })
    const get = Effect.fnUntraced(function*(id: FirewallConfigId) {
      const row = yield* find(id)
      const { ruleset } = yield* revision(id, row.version)
      return { ...toSummary(row), ruleset, edition: row.edition } satisfies FirewallRecord
    })

    /** Nothing was written: there is no such configuration, or not as expected. */
    const unwritten = Effect.fnUntraced(function*(id: FirewallConfigId) {
      const row = yield* find(id)
      if (row.is_deleted) return yield* new FirewallConfigMissing({ id })
      return yield* new RevisionMismatch({ revision: row.edition })
    })

    const insertRevision = (id: FirewallConfigId, version: number, { at, by, checksum, draft }: FirewallVersion) =>
      sql`INSERT INTO firewall_revisions (config_id, version, name, description, ruleset, checksum, comment,
          created_by, created_at)
        VALUES (${id}, ${version}, ${draft.name}, ${draft.description}, ${JSON.stringify(draft.ruleset)}::json,
          ${checksum}, ${draft.comment}, ${by}, ${new Date(at.epochMillis)})`

    const orDieSql = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchIf(
        effect,
        (error): error is Exclude<E, FirewallConfigMissing | TableOwned | RevisionMismatch> =>
          ![FirewallConfigMissing, TableOwned, RevisionMismatch].some((expected) => error instanceof expected),
        Effect.die
      )

    return FirewallConfigs.of({
      create: Effect.fn("FirewallConfigs.create")(function*(id, version) {
        const { at, by, checksum, draft, tables } = version
        const time = new Date(at.epochMillis)
        yield* sql.withTransaction(Effect.zipRight(
          sql`INSERT INTO firewall_configs (id, name, description, version, checksum, tables, comment, status,
              is_deleted, applied, created_by, updated_by, created_at, updated_at)
            VALUES (${id}, ${draft.name}, ${draft.description}, 1, ${checksum}, ${tables as Array<string>},
              ${draft.comment}, 'draft', false,
              '{"version": null, "at": null, "tables": [], "baseline": []}', ${by}, ${by}, ${time}, ${time})`,
          insertRevision(id, 1, version)
        )).pipe(Effect.orDie)
        return yield* Effect.orDie(get(id))
      }),
      get: Effect.fn("FirewallConfigs.get")(get),
      list: Effect.fn("FirewallConfigs.list")(function*({ deleted, ...request }) {
        const found = yield* page(deleted ? sql`true` : sql`NOT is_deleted`, request)
        return { ...found, items: found.items.map(toSummary) }
      }),
      update: Effect.fn("FirewallConfigs.update")(function*(id, version, expected) {
        const { at, by, checksum, draft, tables } = version
        yield* sql.withTransaction(Effect.gen(function*() {
          const rows = yield* sql<{ readonly version: number }>`UPDATE firewall_configs SET name = ${draft.name},
            description = ${draft.description}, version = version + 1, edition = edition + 1, checksum = ${checksum},
            tables = ${tables as Array<string>}, comment = ${draft.comment}, updated_by = ${by},
            updated_at = ${new Date(at.epochMillis)}
            WHERE id = ${id} AND NOT is_deleted AND ${isExpectedIn(sql, "edition", expected)} RETURNING version`
          if (rows[0] === undefined) return yield* unwritten(id)
          yield* insertRevision(id, rows[0].version, version)
        })).pipe(orDieSql)
        return yield* get(id)
      }),
      revisions: Effect.fn("FirewallConfigs.revisions")(function*(id) {
        yield* find(id)
        return yield* Effect.orDie(selectRevisions(id))
      }),
      revision,
      standing: (id) => Effect.map(find(id), toStanding),
      standings: Effect.map(Effect.orDie(selectStandings()), (rows) => rows.map(toStanding)),
      settle: Effect.fn("FirewallConfigs.settle")(function*(id, state) {
        const document = yield* Effect.orDie(encodeDocument(state))
        const tables = [...new Set(ownedBy(state))]
        yield* sql.withTransaction(Effect.gen(function*() {
          const before = toStanding(yield* orMissing(id, yield* lockOne(id)))
          const owned = new Set(ownedBy(before))
          const same = owned.size === tables.length && tables.every((table) => owned.has(table))
          const owner = same ? Option.none() : yield* selectOwner({ id, tables })
          if (Option.isSome(owner)) {
            return yield* new TableOwned({ table: owner.value.name, owner: owner.value.config_id })
          }
          const text = (value: unknown) => value === null ? null : JSON.stringify(value)
          yield* events.publish(firewallEvents(before, state, yield* DateTime.now))
          const rows = yield* sql`UPDATE firewall_configs SET status = ${document.status},
            edition = edition + 1, applied = ${text(document.applied)}::json, intent = ${text(document.intent)}::json,
            pending = ${text(document.pending)}::json WHERE id = ${id} RETURNING id`
          yield* orMissing(id, Option.fromNullable(rows[0]))
          if (same) return
          yield* sql`DELETE FROM firewall_tables WHERE config_id = ${id}`
          if (tables.length > 0) {
            yield* sql`INSERT INTO firewall_tables ${sql.insert(tables.map((name) => ({ name, config_id: id })))}`
          }
        })).pipe(orDieSql)
      }),
      setDeleted: Effect.fn("FirewallConfigs.setDeleted")(function*(id, deleted) {
        const rows = yield* Effect.orDie(
          sql`UPDATE firewall_configs SET is_deleted = ${deleted}, edition = edition + 1 WHERE id = ${id} RETURNING id`
        )
        yield* orMissing(id, Option.fromNullable(rows[0]))
      }),
      // Queued here first: those who wait in Postgres hold a connection each, and would leave none for who works.
      exclusively: (effect) =>
        queue.withPermits(1)(
          Effect.scoped(Effect.gen(function*() {
            const connection = yield* Effect.orDie(sql.reserve)
            yield* Effect.acquireReleaseInterruptible(
              Effect.orDie(connection.executeUnprepared("SELECT pg_advisory_lock($1)", [lockKey], undefined)),
              // A connection that broke has released the lock with its session.
              () => Effect.ignore(connection.executeUnprepared("SELECT pg_advisory_unlock($1)", [lockKey], undefined))
            )
            return yield* effect
          }))
        )
    })
  })
).pipe(Layer.provide(ServiceEventsPg))
