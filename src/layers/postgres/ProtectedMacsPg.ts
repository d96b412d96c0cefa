import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Schema } from "effect"
import { CanonicalMac } from "../../schema/Mac.ts"
import { UserId } from "../../schema/User.ts"
import { ActionLimits } from "../../services/ActionLimits.ts"
import { configured, ProtectedMacMissing, ProtectedMacs } from "../../services/ProtectedMacs.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({
  mac: CanonicalMac,
  comment: Schema.String,
  created_by: Schema.NullOr(UserId),
  created_at: Timestamp
})
const listed = (row: typeof Row.Type) => ({ ...row, source: "list" as const })

export const ProtectedMacsPg = Layer.effect(
  ProtectedMacs,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { protectedMacs } = yield* ActionLimits

    const selectAll = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () => sql`SELECT * FROM protected_macs ORDER BY mac`
    })
    const insert = SqlSchema.single({
      Request: Row,
      Result: Row,
      execute: (row) =>
        sql`INSERT INTO protected_macs ${sql.insert(row)}
          ON CONFLICT (mac) DO UPDATE SET comment = excluded.comment RETURNING *`
    })
    const remove = SqlSchema.findAll({
      Request: CanonicalMac,
      Result: Schema.Struct({ mac: CanonicalMac }),
      execute: (mac) => sql`DELETE FROM protected_macs WHERE mac = ${mac} RETURNING mac`
    })

    return ProtectedMacs.of({
      list: Effect.orDie(Effect.map(selectAll(), (rows) => configured(protectedMacs, rows.map(listed)))),
      add: ({ at, by, comment, mac }) =>
        Effect.orDie(Effect.map(insert({ mac, comment, created_by: by, created_at: at }), listed)),
      remove: (mac) =>
        Effect.orDie(remove(mac)).pipe(
          Effect.filterOrFail((rows) => rows.length > 0, () => new ProtectedMacMissing()),
          Effect.asVoid
        )
    })
  })
)
