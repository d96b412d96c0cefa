import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { endpoints } from "../../src/api/Api.ts"
import { call } from "../support/client.ts"
import { beginning, Callers, TestApi } from "../support/testApi.ts"

const event = JSON.stringify({
  event_time: DateTime.formatIso(beginning),
  protocol: "dhcpv4",
  message_type: "discover",
  client_mac: "02:00:00:00:00:01"
})
const logged = JSON.stringify({
  event_time: DateTime.formatIso(beginning),
  action: "drop",
  direction: "in",
  src_ip: "192.0.2.1",
  dst_ip: "192.0.2.2"
})

/** What leaves no audit entry although it isn't a read, with a body that is taken: trials and observations. */
const unaudited: Readonly<Record<string, string>> = {
  "automation.testPreview": JSON.stringify({ name: "r", threshold: { min_requests: 1 } }),
  "bulk.preview": JSON.stringify({ action: { type: "tag", tag: "x" }, criteria: { macs: ["02:00:00:00:00:01"] } }),
  "firewall.validate": JSON.stringify({ nftables: [] }),
  "dhcpFilters.validate": JSON.stringify({ rules: [] }),
  "notifications.preview": JSON.stringify({ rule: { name: "r" } }),
  "ipRestrictions.check": JSON.stringify({ user_id: 1, ip: "192.0.2.1" }),
  "dhcpEvents.ingest": `${event}\n`,
  "firewallEvents.ingest": `${logged}\n`
}

describe("the audit trail", () => {
  it("is kept of every operation that changes something", () => {
    const writes = endpoints.filter(({ method }) => method !== "GET")
    assert.deepStrictEqual(
      writes.filter(({ audited }) => !audited).map(({ id }) => id).sort(),
      Object.keys(unaudited).sort()
    )
    for (const { audited, id, method, traits } of endpoints) {
      if (method === "GET") assert.isFalse(audited, id)
      if (traits.idempotent || traits.atomic) assert.isTrue(audited, id)
    }
  })

  it.effect("isn't kept of trials and observations", () =>
    Effect.gen(function*() {
      const { token } = yield* Callers
      const entries = Effect.map(
        call("GET", "/api/audit?limit=1000", { token: token.admin }),
        ({ json }) => json.items as ReadonlyArray<{ readonly operation: string }>
      )
      const before = yield* entries
      for (const [id, body] of Object.entries(unaudited)) {
        const { contentType, method, path } = endpoints.find((endpoint) => endpoint.id === id)!
        const answer = yield* call(method, path, { body, token: token.admin, headers: { "content-type": contentType } })
        assert.strictEqual(answer.status, 200, `${id} ${answer.text}`)
      }
      assert.deepStrictEqual(yield* entries, before)
      yield* call("POST", "/api/feedback", {
        body: JSON.stringify({ category: "bug", message: "m" }),
        token: token.admin
      })
      assert.strictEqual((yield* entries).length, before.length + 1)
    }).pipe(Effect.provide(TestApi)))
})
