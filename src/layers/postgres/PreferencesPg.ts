import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { UserId } from "../../schema/User.ts"
import { UserSettings } from "../../schema/UserSettings.ts"
import { Preferences } from "../../services/Preferences.ts"
import { type Expected, RevisionMismatch } from "../../services/Revision.ts"
import { isExpectedIn } from "./sql.ts"

const Row = Schema.Struct({ settings: UserSettings, revision: Schema.Int })
const Given = Schema.Struct({ userId: UserId, given: Schema.parseJson(UserSettings) })

export const PreferencesPg = Layer.effect(
  Preferences,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const select = SqlSchema.findOne({
      Request: UserId,
      Result: Row,
      execute: (id) => sql`SELECT settings, revision FROM user_settings WHERE user_id = ${id}`
    })
    const update = (expected: Expected) =>
      SqlSchema.findOne({
        Request: Given,
        Result: Row,
        execute: ({ given, userId }) =>
          sql`UPDATE user_settings SET revision = revision + 1,
            settings = settings || ${given}::jsonb || CASE WHEN ${given}::jsonb ? 'notifications' THEN
              jsonb_build_object('notifications',
                coalesce(settings -> 'notifications', '{}') || (${given}::jsonb -> 'notifications'))
              ELSE '{}' END
            WHERE user_id = ${userId} AND ${isExpectedIn(sql, "revision", expected)} RETURNING settings, revision`
      })
    const get = (userId: UserId) =>
      Effect.orDie(Effect.map(select(userId), Option.getOrElse(() => ({ settings: {}, revision: 0 }))))

    return Preferences.of({
      get,
      forgetFilter: (userId, filterId) =>
        sql`UPDATE user_settings SET settings = settings || '{"default_filter_id": null}', revision = revision + 1
          WHERE user_id = ${userId} AND settings ->> 'default_filter_id' = ${filterId}`.pipe(
          Effect.asVoid,
          Effect.orDie
        ),
      merge: Effect.fn("Preferences.merge")(function*(userId, given, expected) {
        yield* Effect.orDie(
          sql`INSERT INTO user_settings VALUES (${userId}, '{}', 0) ON CONFLICT DO NOTHING`
        )
        const row = yield* Effect.orDie(update(expected)({ userId, given }))
        return Option.isSome(row)
          ? row.value
          : yield* new RevisionMismatch({ revision: (yield* get(userId)).revision })
      })
    })
  })
)
