import { assert, describe, it } from "@effect/vitest"
import { permissions, permissionsOf, roles } from "../../src/schema/Permission.ts"

/** Who may what, written out: changing a role means changing it here as well. */
const table: Readonly<Record<string, string>> = {
  "dhcp.events:read": "admin operator viewer auditor",
  "automation.rules:read": "admin operator viewer auditor",
  "automation.alarms:read": "admin operator viewer auditor",
  "actions:read": "admin operator viewer auditor",
  "nftables.configs:read": "admin operator viewer auditor",
  "notifications:read": "admin operator viewer auditor",
  "metrics:read": "admin operator viewer auditor",
  "config.retention:read": "admin operator viewer auditor",
  "automation.rules:preview": "admin operator viewer",
  "actions.bulk:preview": "admin operator viewer",
  "nftables.configs:validate": "admin operator viewer",
  "dhcp.events:ingest": "admin operator",
  "firewall.events:ingest": "admin operator",
  "automation.rules:write": "admin operator",
  "automation.rules:run": "admin operator",
  "automation.alarms:write": "admin operator",
  "actions:write": "admin operator",
  "actions.bulk:execute": "admin operator",
  "actions.sync:cleanup": "admin operator",
  "nftables.configs:write": "admin operator",
  "nftables.configs:apply": "admin operator",
  "notifications:write": "admin operator",
  "audit:read": "admin auditor",
  "config.retention:write": "admin",
  "ip_restrictions:manage": "admin",
  "users:manage": "admin",
  "feedback:read": "admin"
}

describe("permissions", () => {
  it("are those of the table", () => {
    assert.deepStrictEqual([...permissions].sort(), Object.keys(table).sort())
  })

  for (const role of roles) {
    it(`gives ${role} what the table gives it`, () => {
      const given = Object.keys(table).filter((permission) => table[permission]!.split(" ").includes(role))
      assert.deepStrictEqual([...permissionsOf(role)].sort(), given.sort())
    })
  }
})
