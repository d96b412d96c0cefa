import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { ObservedMemory } from "../layers/MetricsMemory.ts"
import { type Answer, assertProblem, call } from "../support/client.ts"
import { beginning, Callers, TestApi } from "../support/testApi.ts"

const at = (secondsAgo: number) => new Date(DateTime.toEpochMillis(beginning) - secondsAgo * 1000).toISOString()

describe("retention", () => {
  it.effect("is read by all, and changed within the bounds of each table's category", () =>
    Effect.gen(function*() {
      const { client, token } = yield* Callers
      const before = yield* client.auditor.retention.config()
      assert.strictEqual(before.tables.length, 8)
      const put = (body: unknown) =>
        call("PUT", "/api/config/retention", { token: token.admin, body: JSON.stringify(body) })
      const wrong: ReadonlyArray<unknown> = [
        {},
        { tables: [] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 0 }] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 6 }] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 181 }] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 7.5 }] },
        { tables: [{ table_name: "firewall_events", ttl_days: 31 }] },
        { tables: [{ table_name: "alarm_transitions", ttl_days: 1096 }] },
        { tables: [{ table_name: "schema_migrations", ttl_days: 30 }] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 8 }, { table_name: "dhcp_events", ttl_days: 9 }] },
        { tables: [{ table_name: "dhcp_events", ttl_days: 8 }], dryrun: true }
      ]
      for (const body of wrong) assertProblem(yield* put(body), 400, "invalid-request")
      assert.deepStrictEqual(yield* client.auditor.retention.config(), before)
      const changed: Answer = yield* put({ tables: [{ table_name: "dhcp_events", ttl_days: 7 }] })
      assert.strictEqual(changed.status, 200)
      assert.deepInclude(changed.json, { success: true, dry_run: false })
      const after = yield* client.auditor.retention.config()
      assert.strictEqual(after.tables[0]!.current_ttl_days, 7)
    }).pipe(Effect.provide(TestApi)))
})

describe("firewall events", () => {
  it.effect("are judged line by line and stored once under one key", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const { firewall } = yield* ObservedMemory
      const event = { event_time: at(60), action: "drop", direction: "in", src_ip: "2001:DB8::1", dst_ip: "192.0.2.1" }
      const body = [
        JSON.stringify({ ...event, dst_port: 22, bytes: 60, rule: null }),
        JSON.stringify({ ...event, action: "explode", secret: "hunter2" }),
        JSON.stringify({ ...event, event_time: at(15 * 86_400) }),
        "nonsense"
      ].join("\n")
      const send = call("POST", "/api/firewall/events", {
        token: token.operator,
        headers: { "content-type": "application/x-ndjson", "idempotency-key": "k" },
        body
      })
      const answer: Answer = yield* send
      assert.strictEqual(answer.json.accepted, 1, answer.text)
      assert.strictEqual(answer.json.rejected, 3)
      assert.deepStrictEqual(answer.json.errors.map(({ line }: { line: number }) => line), [2, 3, 4])
      assert.include(answer.json.errors[0].message, "action: expected allow, drop or reject")
      assert.notInclude(answer.text, "hunter2")
      yield* send
      assert.deepStrictEqual(firewall.map(({ dst_port, src_ip }) => [String(src_ip), dst_port]), [["2001:db8::1", 22]])
    }).pipe(Effect.provide(TestApi)))
})
