import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { Effect, Layer } from "effect"
import { UnitOfWork } from "../../services/UnitOfWork.ts"

/** One transaction on the pool; transactions within it are its savepoints. */
export const UnitOfWorkPg = Layer.effect(
  UnitOfWork,
  Effect.map(SqlClient.SqlClient, (sql) =>
    UnitOfWork.of({
      transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        sql.withTransaction(effect).pipe(
          Effect.catchIf((error): error is SqlError => error instanceof SqlError, Effect.die)
        ) as Effect.Effect<A, E, R>
    }))
)
