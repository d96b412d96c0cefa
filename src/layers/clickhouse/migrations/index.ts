import createDhcpEvents from "./0001_create_dhcp_events.ts"
import createDhcpRollups from "./0002_create_dhcp_rollups.ts"
import createAlarmTransitions from "./0003_create_alarm_transitions.ts"
import createFirewallTraffic from "./0004_create_firewall_traffic.ts"
import identifyAlarmTransitions from "./0005_identify_alarm_transitions.ts"
import boundActivityByWindows from "./0006_bound_activity_by_windows.ts"
import indexBatches from "./0007_index_batches.ts"

/**
 * Statements by number and name; ids only grow, from 1 without gaps. ClickHouse has no transactions: a migration that
 * failed halfway runs again from its first statement, so each must bear that (`IF NOT EXISTS`).
 */
export const migrations: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_create_dhcp_events": createDhcpEvents,
  "0002_create_dhcp_rollups": createDhcpRollups,
  "0003_create_alarm_transitions": createAlarmTransitions,
  "0004_create_firewall_traffic": createFirewallTraffic,
  "0005_identify_alarm_transitions": identifyAlarmTransitions,
  "0006_bound_activity_by_windows": boundActivityByWindows,
  "0007_index_batches": indexBatches
}
