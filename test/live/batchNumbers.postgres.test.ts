import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BatchNumbersPg } from "../../src/layers/postgres/BatchNumbersPg.ts"
import { BatchNumbers } from "../../src/services/DhcpEvents.ts"
import { batchNumbersContract } from "../contract/BatchNumbers.ts"
import { PostgresTest } from "../support/engines.ts"

batchNumbersContract("postgres", Layer.provide(BatchNumbersPg, PostgresTest))

describe("BatchNumbersPg", () => {
  it.effect("a sequence that doesn't answer is a failure of the event store, with its cause", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP SEQUENCE dhcp_batch_numbers`
      const error = yield* Effect.flip((yield* BatchNumbers).next)
      assert.strictEqual(error._tag, "DhcpEvents/EventStoreFailed")
      assert.strictEqual((error.cause as { readonly _tag: string })._tag, "SqlError")
    }).pipe(Effect.provide(BatchNumbersPg.pipe(Layer.provideMerge(PostgresTest)))))
})
