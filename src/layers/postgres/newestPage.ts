import { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Schema } from "effect"
import type { InvalidCursor, Page, PageRequest } from "../../schema/Page.ts"
import { pageOfRows, type Position, positionOf } from "../../schema/Position.ts"

const decodeTotal = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ total: Schema.Int })))

/** Reads pages of a table by the time in one of its columns and by id, both descending; it needs that index. */
export const newestPage = Effect.fnUntraced(function*<A, I>(options: {
  readonly table: string
  readonly time: string
  readonly row: Schema.Schema<A, I>
  readonly position: (row: A) => Position
}) {
  const sql = yield* SqlClient.SqlClient
  const table = sql(options.table)
  const time = sql(options.time)
  const decodeRows = Schema.decodeUnknown(Schema.Array(options.row))

  return Effect.fn("newestPage")(function*(
    where: Fragment,
    page: PageRequest
  ): Effect.fn.Return<Page<A>, InvalidCursor> {
    const after = yield* positionOf(page.cursor)
    const beyond = after === undefined
      ? sql``
      : sql`AND (${time}, id) < (${DateTime.toDateUtc(after.at)}::timestamptz, ${after.id}::uuid)`
    const rows = yield* sql`SELECT * FROM ${table} WHERE ${where} ${beyond}
      ORDER BY ${time} DESC, id DESC LIMIT ${page.limit + 1}`.pipe(Effect.flatMap(decodeRows), Effect.orDie)
    const [{ total }] = yield* sql`SELECT count(*) AS total FROM ${table} WHERE ${where}`.pipe(
      Effect.flatMap(decodeTotal),
      Effect.orDie
    )
    return pageOfRows(rows, page.limit, total, options.position)
  })
})
