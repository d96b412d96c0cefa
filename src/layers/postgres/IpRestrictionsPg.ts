import { SqlClient, SqlSchema } from "@effect/sql"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { IpRestriction, IpRestrictionId, restrictionsMax, type Rule } from "../../schema/IpRestriction.ts"
import { UserId } from "../../schema/User.ts"
import {
  type Admit,
  IpRestrictions,
  RestrictionMissing,
  RestrictionRefused,
  TooManyRestrictions
} from "../../services/IpRestrictions.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../services/Revision.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({
  ...IpRestriction.fields,
  expires_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
  last_matched_at: Schema.NullOr(Timestamp),
  revision: Schema.Int
})
const NewRow = Row.pipe(Schema.omit("last_matched_at", "match_count"))
const Revision = Schema.Struct({ revision: Schema.Int })

const toDomain = ({ revision, ...entry }: typeof Row.Type) => ({ entry, revision })

export const IpRestrictionsPg = Layer.effect(
  IpRestrictions,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const selectOne = SqlSchema.findOne({
      Request: IpRestrictionId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM ip_restrictions WHERE id = ${id}`
    })
    const selectOfUser = SqlSchema.findAll({
      Request: UserId,
      Result: Row,
      execute: (id) => sql`SELECT * FROM ip_restrictions WHERE user_id = ${id} ORDER BY type, priority, id`
    })
    const selectEnabled = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () => sql`SELECT * FROM ip_restrictions WHERE enabled`
    })
    const selectRevision = SqlSchema.single({
      Request: Schema.Void,
      Result: Revision,
      execute: () => sql`SELECT revision FROM ip_restrictions_revision`
    })
    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO ip_restrictions ${sql.insert(row)} RETURNING *`
    })
    const update = SqlSchema.single({
      Request: Schema.Struct({ id: IpRestrictionId, enabled: Schema.Boolean, at: Timestamp }),
      Result: Row,
      execute: ({ at, enabled, id }) =>
        sql`UPDATE ip_restrictions SET enabled = ${enabled}, updated_at = ${at}, revision = revision + 1
          WHERE id = ${id} RETURNING *`
    })

    // The user's row is what changes to its entries queue up on.
    const lock = (userId: UserId) => Effect.orDie(sql`SELECT FROM users WHERE id = ${userId} FOR NO KEY UPDATE`)
    const transaction = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      sql.withTransaction(effect).pipe(
        Effect.catchIf((error) => (error as { readonly _tag?: string })._tag === "SqlError", Effect.die)
      ) as Effect.Effect<A, E>

    const change = <A>(
      id: IpRestrictionId,
      expected: Expected,
      admit: Admit,
      after: (entries: ReadonlyArray<Rule>) => ReadonlyArray<Rule>,
      write: Effect.Effect<A>
    ) =>
      transaction(Effect.gen(function*() {
        const found = yield* Effect.orDie(selectOne(id))
        if (Option.isNone(found)) return yield* new RestrictionMissing()
        yield* lock(found.value.user_id)
        const entries = yield* Effect.orDie(selectOfUser(found.value.user_id))
        const current = entries.find((entry) => entry.id === id)
        if (current === undefined) return yield* new RestrictionMissing()
        if (!isExpected(expected, current.revision)) return yield* new RevisionMismatch({ revision: current.revision })
        if (!admit(after(entries))) return yield* new RestrictionRefused()
        return yield* write
      }))

    return IpRestrictions.of({
      create: ({ at, by, draft, id, userId }, admit) =>
        transaction(Effect.gen(function*() {
          yield* lock(userId)
          const entries: ReadonlyArray<Rule> = yield* Effect.orDie(selectOfUser(userId))
          if (entries.length >= restrictionsMax) return yield* new TooManyRestrictions()
          if (!admit([...entries, { ...draft, id }])) return yield* new RestrictionRefused()
          const row = {
            ...draft,
            id,
            user_id: userId,
            created_by: by,
            created_at: at,
            updated_at: at,
            revision: 1
          }
          return toDomain(yield* Effect.orDie(insert(row)))
        })),
      get: (id) => Effect.orDie(Effect.map(selectOne(id), Option.map(toDomain))),
      ofUser: (userId) =>
        Effect.orDie(Effect.map(selectOfUser(userId), (rows) => rows.map((row) => toDomain(row).entry))),
      setEnabled: (id, { at, enabled, expected }, admit) =>
        change(
          id,
          expected,
          admit,
          (entries) => entries.map((entry) => entry.id === id ? { ...entry, enabled } : entry),
          Effect.map(Effect.orDie(update({ id, enabled, at })), toDomain)
        ),
      remove: (id, expected, admit) =>
        change(
          id,
          expected,
          admit,
          (entries) => entries.filter((entry) => entry.id !== id),
          Effect.orDie(Effect.asVoid(sql`DELETE FROM ip_restrictions WHERE id = ${id}`))
        ),
      revision: Effect.orDie(Effect.map(selectRevision(), ({ revision }) => revision)),
      // The revision is read first: entries that are newer than it are read again, never missed.
      enabled: Effect.gen(function*() {
        const { revision } = yield* selectRevision()
        const rules = new Map<UserId, Array<Rule>>()
        for (const row of yield* selectEnabled()) rules.set(row.user_id, [...rules.get(row.user_id) ?? [], row])
        return { revision, rules }
      }).pipe(Effect.orDie),
      countMatches: (matches) =>
        matches.length === 0 ? Effect.void : sql`
          UPDATE ip_restrictions held SET match_count = held.match_count + seen.count,
            last_matched_at = greatest(held.last_matched_at, seen.last)
          FROM unnest(${matches.map(({ id }) => id)}::uuid[], ${matches.map(({ count }) => count)}::bigint[],
            ${matches.map(({ last }) => DateTime.formatIso(last))}::timestamptz[]) AS seen (id, count, last)
          WHERE held.id = seen.id`.pipe(Effect.asVoid, Effect.orDie)
    })
  })
)
