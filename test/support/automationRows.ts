import { Effect, Redacted, Schema } from "effect"
import { DateTime } from "effect"
import { randomUUID } from "node:crypto"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { sqlTime } from "../../src/layers/clickhouse/SqlParams.ts"
import { RuleDraft, RuleId } from "../../src/schema/AutomationRule.ts"
import { Username } from "../../src/schema/User.ts"
import { AutomationRules } from "../../src/services/AutomationRules.ts"
import { Users } from "../../src/services/Users.ts"

export const mac = (index: number) => `02:00:00:00:00:${index.toString(16).padStart(2, "0")}`

/** Stores three requests of each of these clients, seen right now. */
export const observeClients = Effect.fnUntraced(function*(clients: ReadonlyArray<number>, batch: number) {
  const clickhouse = yield* ClickHouse
  const now = sqlTime(DateTime.formatIso(yield* DateTime.now))
  const rows = clients.flatMap((client) =>
    [0, 1, 2].map((row) => ({
      event_time: now,
      protocol: "dhcpv4",
      message_type: "discover",
      client: mac(client),
      client_mac: mac(client),
      batch,
      row: client * 3 + row
    }))
  )
  yield* clickhouse.insert({ table: "dhcp_events", rows })
})

/** A user and a rule of theirs that blocks whoever sends two requests. */
export const newRule = Effect.fnUntraced(function*(fields: object) {
  const users = yield* Users
  const rules = yield* AutomationRules
  const username = Username.make(randomUUID())
  const { id: by } = yield* users.create({ username, role: "operator", passwordHash: Redacted.make("hash") })
  const draft = Schema.decodeUnknownSync(RuleDraft)({
    name: "busy",
    mode: "enforce",
    threshold: { min_requests: 2 },
    actions: ["block"],
    ...fields
  })
  return yield* rules.create({ id: RuleId.make(randomUUID()), draft, by, at: yield* DateTime.now })
})
