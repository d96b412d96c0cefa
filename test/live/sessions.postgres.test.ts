import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { SessionsPg } from "../../src/layers/postgres/SessionsPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import type { Username } from "../../src/schema/User.ts"
import { sessionsContract } from "../contract/Sessions.ts"
import { PostgresTest } from "../support/engines.ts"

const setDisabled = (username: Username, disabled: boolean) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.orDie(sql`UPDATE users SET disabled = ${disabled} WHERE username = ${username}`)
  )

sessionsContract(
  "postgres",
  Layer.merge(SessionsPg, UsersPg).pipe(Layer.provideMerge(PostgresTest)),
  setDisabled,
  50
)
