import createDhcpEvents from "./0001_create_dhcp_events.ts"

/**
 * Statements by number and name; ids only grow, from 1 without gaps. ClickHouse has no transactions: a migration that
 * failed halfway runs again from its first statement, so each must bear that (`IF NOT EXISTS`).
 */
export const migrations: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_create_dhcp_events": createDhcpEvents
}
