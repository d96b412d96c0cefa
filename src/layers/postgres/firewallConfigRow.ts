import { Schema } from "effect"
import {
  FirewallConfigId,
  type FirewallConfigSummary,
  FirewallRevision,
  FirewallStatus
} from "../../schema/FirewallConfig.ts"
import { UserId } from "../../schema/User.ts"
import type { FirewallStanding } from "../../services/FirewallConfigs.ts"
import { Timestamp } from "./sql.ts"

const Applied = Schema.Struct({
  version: Schema.NullOr(Schema.Int),
  at: Schema.NullOr(Schema.DateTimeUtc),
  tables: Schema.Array(Schema.String),
  baseline: Schema.Array(Schema.Unknown)
})
const Intent = Schema.Struct({
  version: Schema.Int,
  tables: Schema.Array(Schema.String),
  guard: Schema.NullOr(Schema.String)
})
const Pending = Schema.Struct({ guard: Schema.String, deadline: Schema.DateTimeUtc, previous: Applied })

/** A row of `firewall_configs`. */
export const Row = Schema.Struct({
  id: FirewallConfigId,
  name: Schema.String,
  description: Schema.String,
  version: Schema.Int,
  edition: Schema.Int,
  checksum: Schema.String,
  tables: Schema.Array(Schema.String),
  comment: Schema.String,
  status: FirewallStatus,
  is_deleted: Schema.Boolean,
  applied: Applied,
  intent: Schema.NullOr(Intent),
  pending: Schema.NullOr(Pending),
  created_by: UserId,
  updated_by: UserId,
  created_at: Timestamp,
  updated_at: Timestamp
})
export type Row = typeof Row.Type

/** A row of `firewall_revisions`. */
export const RevisionRow = Schema.Struct({ ...FirewallRevision.fields, created_at: Timestamp })
const Document = Schema.Struct({
  status: FirewallStatus,
  applied: Applied,
  intent: Schema.NullOr(Intent),
  pending: Schema.NullOr(Pending)
})
/** The state of a configuration as its columns of JSON. */
export const encodeDocument = Schema.encode(Document)

const isActive = (status: FirewallStatus) => status === "active" || status === "pending_confirmation"

export const toSummary = ({ applied, edition: _edition, intent: _intent, is_deleted, pending, ...row }: Row) => ({
  ...row,
  is_active: isActive(row.status) ? 1 : 0,
  is_deleted: is_deleted ? 1 : 0,
  applied_version: applied.version,
  applied_at: applied.at,
  confirm_deadline: pending?.deadline ?? null
} satisfies FirewallConfigSummary)

export const toStanding = ({ applied, id, intent, name, pending, status }: Row): FirewallStanding => ({
  id,
  name,
  status,
  applied,
  intent,
  pending
})
