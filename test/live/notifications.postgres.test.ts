import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { LogPipelineChannelPg } from "../../src/layers/postgres/LogPipelineChannelPg.ts"
import { NotificationRulesPg, SilencesPg } from "../../src/layers/postgres/NotificationRulesPg.ts"
import { OutboxPg } from "../../src/layers/postgres/OutboxPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { notificationRulesContract } from "../contract/NotificationRules.ts"
import { outboxContract } from "../contract/Outbox.ts"
import { PostgresTest } from "../support/engines.ts"

notificationRulesContract(
  "postgres",
  Layer.provide(Layer.mergeAll(NotificationRulesPg, SilencesPg, LogPipelineChannelPg, UsersPg), PostgresTest)
)

const outbox = Layer.provideMerge(OutboxPg, PostgresTest)
const empty = Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(sql`TRUNCATE notification_deliveries`))

outboxContract("postgres", outbox as never, empty as never, 25)
