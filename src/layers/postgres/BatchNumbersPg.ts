import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Schema } from "effect"
import { BatchNumbers, EventStoreFailed } from "../../services/DhcpEvents.ts"

/** Numbers from a sequence: they rise over all nodes, and a number that was not used leaves a gap. */
export const BatchNumbersPg = Layer.effect(
  BatchNumbers,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const next = SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ number: Schema.Int }),
      execute: () => sql`SELECT nextval('dhcp_batch_numbers') AS number`
    })
    return BatchNumbers.of({
      next: next().pipe(
        Effect.catchTags({ ParseError: Effect.die, NoSuchElementException: Effect.die }),
        Effect.mapBoth({ onSuccess: ({ number }) => number, onFailure: (cause) => new EventStoreFailed({ cause }) })
      )
    })
  })
)
