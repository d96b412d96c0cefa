import { Schema } from "effect"

/** Roles of a user; each is a fixed set of permissions, everything not named is refused. */
export const roles = ["admin", "operator", "viewer", "auditor"] as const
export const Role = Schema.Literal(...roles)
export type Role = typeof Role.Type

const everyone = [
  "dhcp.events:read",
  "automation.rules:read",
  "automation.alarms:read",
  "actions:read",
  "nftables.configs:read",
  "notifications:read",
  "metrics:read",
  "config.retention:read"
] as const
const analysts = ["automation.rules:preview", "actions.bulk:preview", "nftables.configs:validate"] as const
const operators = [
  "dhcp.events:ingest",
  "firewall.events:ingest",
  "automation.rules:write",
  "automation.rules:run",
  "automation.alarms:write",
  "actions:write",
  "actions.bulk:execute",
  "actions.sync:cleanup",
  "nftables.configs:write",
  "nftables.configs:apply",
  "notifications:write"
] as const
const administrators = ["config.retention:write", "ip_restrictions:manage", "users:manage", "feedback:read"] as const

/** `resource:action`, what an endpoint may ask of its caller. */
export const permissions = [...everyone, ...analysts, ...operators, "audit:read", ...administrators] as const
export const Permission = Schema.Literal(...permissions)
export type Permission = typeof Permission.Type

const grants: Readonly<Record<Role, ReadonlyArray<Permission>>> = {
  admin: permissions,
  operator: [...everyone, ...analysts, ...operators],
  viewer: [...everyone, ...analysts],
  auditor: [...everyone, "audit:read"]
}

/** The permissions that a role has, in the order of `permissions`. */
export const permissionsOf = (role: Role): ReadonlyArray<Permission> => grants[role]
