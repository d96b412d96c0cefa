import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Schema } from "effect"
import { RequestCounts } from "../../services/RequestCounts.ts"

const decodeSums = Schema.decodeUnknown(Schema.Array(Schema.Struct({ token_id: Schema.String, requests: Schema.Int })))

export const RequestCountsPg = Layer.effect(
  RequestCounts,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return RequestCounts.of({
      add: Effect.fn("RequestCounts.add")(function*(counts) {
        if (counts.length === 0) return []
        // In one order on all nodes, so that they don't wait for each other in a circle.
        const sorted = [...counts].sort((a, b) => a.token < b.token ? -1 : 1)
        const rows = sorted.map(({ requests, token, windowStart }) => ({
          token_id: token,
          window_start: DateTime.toDateUtc(windowStart),
          requests
        }))
        const sums = yield* sql`INSERT INTO request_counts AS c ${sql.insert(rows)}
          ON CONFLICT (token_id, window_start) DO UPDATE SET requests = c.requests + excluded.requests
          RETURNING token_id, requests`.pipe(Effect.flatMap(decodeSums))
        const byToken = new Map(sums.map((sum) => [sum.token_id, sum.requests]))
        return counts.map(({ token }) => byToken.get(token) ?? 0)
      }, Effect.orDie),
      purge: (before) =>
        Effect.orDie(sql`DELETE FROM request_counts WHERE window_start < ${DateTime.toDateUtc(before)}`)
    })
  })
)
