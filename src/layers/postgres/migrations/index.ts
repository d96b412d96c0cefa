import { Migrator } from "@effect/sql"
import usersAndSessions from "./0001_users_and_sessions.ts"
import automation from "./0002_automation.ts"
import actions from "./0003_actions.ts"
import dhcpBatches from "./0004_dhcp_batches.ts"
import firewallConfigs from "./0005_firewall_configs.ts"
import identity from "./0006_identity.ts"
import access from "./0007_access.ts"
import audit from "./0008_audit.ts"
import dueWindows from "./0009_due_windows.ts"
import alarms from "./0010_alarms.ts"
import enforcement from "./0011_enforcement.ts"
import bulkJobs from "./0012_bulk_jobs.ts"
import dhcpFilters from "./0013_dhcp_filters.ts"
import batchLedger from "./0014_batch_ledger.ts"
import serviceEvents from "./0015_service_events.ts"
import notifications from "./0016_notifications.ts"
import jobEvents from "./0017_job_events.ts"
import revisions from "./0018_revisions.ts"
import conditionAlarms from "./0019_condition_alarms.ts"
import bulkSpeed from "./0020_bulk_speed.ts"
import bulkChunks from "./0021_bulk_chunks.ts"
import enforcementMarks from "./0022_enforcement_marks.ts"

/** Ids only grow: the migrator runs what is greater than the last recorded id, and nothing else. */
export const migrations = Migrator.fromRecord({
  "0001_users_and_sessions": usersAndSessions,
  "0002_automation": automation,
  "0003_actions": actions,
  "0004_dhcp_batches": dhcpBatches,
  "0005_firewall_configs": firewallConfigs,
  "0006_identity": identity,
  "0007_access": access,
  "0008_audit": audit,
  "0009_due_windows": dueWindows,
  "0010_alarms": alarms,
  "0011_enforcement": enforcement,
  "0012_bulk_jobs": bulkJobs,
  "0013_dhcp_filters": dhcpFilters,
  "0014_batch_ledger": batchLedger,
  "0015_service_events": serviceEvents,
  "0016_notifications": notifications,
  "0017_job_events": jobEvents,
  "0018_revisions": revisions,
  "0019_condition_alarms": conditionAlarms,
  "0020_bulk_speed": bulkSpeed,
  "0021_bulk_chunks": bulkChunks,
  "0022_enforcement_marks": enforcementMarks
})
