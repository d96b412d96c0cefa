import { Migrator } from "@effect/sql"
import usersAndSessions from "./0001_users_and_sessions.ts"
import automation from "./0002_automation.ts"
import actions from "./0003_actions.ts"
import dhcpBatches from "./0004_dhcp_batches.ts"
import enforcement from "./0005_enforcement.ts"
import bulkJobs from "./0006_bulk_jobs.ts"

/** Ids only grow: the migrator runs what is greater than the last recorded id, and nothing else. */
export const migrations = Migrator.fromRecord({
  "0001_users_and_sessions": usersAndSessions,
  "0002_automation": automation,
  "0003_actions": actions,
  "0004_dhcp_batches": dhcpBatches,
  "0005_enforcement": enforcement,
  "0006_bulk_jobs": bulkJobs
})
