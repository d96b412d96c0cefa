import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { ConfigProvider, DateTime, Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { LogPipelineChannelPg } from "../../src/layers/postgres/LogPipelineChannelPg.ts"
import { migratePostgres, withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { NotificationRulesPg } from "../../src/layers/postgres/NotificationRulesPg.ts"
import { OutboxPg } from "../../src/layers/postgres/OutboxPg.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { SecretsAesGcm } from "../../src/layers/SecretsAesGcm.ts"
import { LogPipelineDraft } from "../../src/schema/LogPipeline.ts"
import { NotificationRuleDraft, NotificationRuleId } from "../../src/schema/NotificationRule.ts"
import { Username } from "../../src/schema/User.ts"
import { channelContext } from "../../src/services/LogPipeline.ts"
import { LogPipelineChannel } from "../../src/services/LogPipelineChannel.ts"
import { NotificationRules } from "../../src/services/NotificationRules.ts"
import { Outbox } from "../../src/services/Outbox.ts"
import { Secrets } from "../../src/services/Secrets.ts"
import { Users } from "../../src/services/Users.ts"
import { startChild } from "./childProcess.ts"
import { freshDatabase } from "./engines.ts"
import type { Manner, ReceivedRecord, Receiver } from "./receiver.ts"

const secretKey = "a".repeat(64)

const stores = (url: string) =>
  Layer.mergeAll(UsersPg, NotificationRulesPg, LogPipelineChannelPg, OutboxPg, SecretsAesGcm).pipe(
    Layer.provideMerge(Layer.provideMerge(
      Layer.effectDiscard(withMigrationLock(migratePostgres)),
      postgresClient(Redacted.make(url), 4)
    )),
    Layer.orDie
  )

const decode = Schema.decodeUnknownSync(LogPipelineDraft)

/** Points the channel at a port as its next revision. */
export const pointAt = Effect.fnUntraced(function*(port: number, more: object = {}) {
  const users = yield* Users
  const channel = yield* LogPipelineChannel
  const user = yield* Effect.orDie(
    users.create({ username: Username.make(randomUUID()), role: "admin", passwordHash: Redacted.make("h") })
  )
  const settings = decode({
    type: "http",
    uri: `http://127.0.0.1:${port}/`,
    compression: "gzip",
    batch: { max_events: 50, timeout_secs: 0 },
    request: { timeout_secs: 1 },
    ...more
  })
  const sealedSecrets = yield* (yield* Secrets).seal(Redacted.make("{}"), channelContext)
  yield* Effect.orDie(channel.apply({ settings, sealedSecrets, by: user.id, at: yield* DateTime.now }))
  return user.id
})

/** Every fact arrived, each under one delivery id, and of each group in order. */
const judge = (
  facts: ReadonlyArray<{ readonly id: number; readonly grp: number }>,
  received: ReadonlyArray<ReceivedRecord>
) => {
  const deliveryOf = new Map<string, string>()
  const firstSeen = new Map<string, Array<number>>()
  for (const { data, id, notification, subject } of received) {
    assert.strictEqual(notification.reason, "new")
    const known = deliveryOf.get(id)
    if (known !== undefined) {
      assert.strictEqual(notification.delivery_id, known, "an event is delivered as new under one id")
      continue
    }
    deliveryOf.set(id, notification.delivery_id)
    firstSeen.set(subject, [...firstSeen.get(subject) ?? [], Number(data.message)])
  }
  const seen = [...firstSeen.values()].flat().sort((a, b) => a - b)
  assert.deepStrictEqual(seen, facts.map(({ id }) => id), "nothing is lost, and nothing else arrives")
  for (const [subject, numbers] of firstSeen) {
    assert.deepStrictEqual(numbers, [...numbers].sort((a, b) => a - b), `${subject} is in order`)
  }
  assert.strictEqual(new Set(deliveryOf.values()).size, deliveryOf.size)
  return { events: facts.length, repeated: received.length - deliveryOf.size }
}

const soon = Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(600))

/**
 * Events keep coming while the receivers change their manners and the server is killed and started anew, each step for
 * a while; then everything has to be there. A step with `reload` changes the receiver under load.
 */
export const outboxProof = (
  receivers: ReadonlyArray<Receiver>,
  steps: ReadonlyArray<
    { readonly manner?: Manner; readonly kill?: boolean; readonly reload?: boolean; readonly ms: number }
  >
) =>
  Effect.gen(function*() {
    const url = yield* freshDatabase
    return yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      let at = 0
      yield* sql`CREATE TABLE halted (at timestamptz)`
      yield* sql`CREATE TABLE facts (id bigint GENERATED ALWAYS AS IDENTITY, grp integer)`
      const by = yield* pointAt(receivers[0]!.port)
      yield* (yield* NotificationRules).create(NotificationRuleId.make(randomUUID()), {
        draft: Schema.decodeUnknownSync(NotificationRuleDraft)({
          name: "all",
          group_by: ["subject"],
          group_wait: "0s",
          group_interval: "1s"
        }),
        by,
        at: yield* DateTime.now
      })
      const env = {
        DATABASE_URL: url,
        PORT: "8766",
        NETOPS_SECRET_KEY: secretKey,
        NETOPS_ALLOW_PRIVATE_TARGETS: "true"
      }
      let node = yield* startChild("notificationNode.ts", env)
      const count = Effect.map(sql<{ readonly count: number }>`SELECT count(*) FROM facts`, ([row]) => row!.count)
      const more = Effect.flatMap(count, (before) =>
        count.pipe(
          Effect.filterOrFail((now) => now >= before + 30, () => "not yet"),
          Effect.retry(soon)
        ))
      yield* more
      for (const step of steps) {
        if (step.manner !== undefined) yield* receivers[at]!.behave(step.manner)
        if (step.kill === true) {
          yield* node.kill("SIGKILL")
          node = yield* startChild("notificationNode.ts", env)
          yield* more
        }
        if (step.reload === true) {
          at = (at + 1) % receivers.length
          yield* pointAt(receivers[at]!.port)
        }
        yield* Effect.sleep(Duration.millis(step.ms))
      }
      for (const receiver of receivers) yield* receiver.behave("takes")
      const received = () => receivers.flatMap((receiver) => receiver.received).sort((a, b) => a.order - b.order)
      yield* sql`INSERT INTO halted VALUES (now())`
      // What was under way ends within this.
      yield* Effect.sleep("500 millis")
      const facts = yield* sql<{ readonly id: number; readonly grp: number }>`SELECT id, grp FROM facts ORDER BY id`
      const rest = Effect.flatMap(
        outbox.counts,
        (counts) =>
          new Set(received().map(({ id }) => id)).size >= facts.length && counts.queued === 0
            ? Effect.succeed(counts)
            : Effect.fail(counts)
      )
      const counts = yield* Effect.retry(rest, soon).pipe(
        Effect.tapError((left) => Effect.logError("left", left, node.output().slice(-2000)))
      )
      assert.strictEqual(counts.dead + counts.dropped, 0)
      return judge(facts, received())
    }).pipe(Effect.provide(stores(url)))
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["NETOPS_SECRET_KEY", secretKey]]))))
