import { Schema } from "effect"
import {
  FirewallConfigId,
  FirewallDiff,
  FirewallStatus,
  RulesetError,
  RulesetWarning
} from "../../schema/FirewallConfig.ts"

/** Result of a validation (specification 2.7). */
export const Validation = Schema.Struct({
  valid: Schema.Boolean,
  errors: Schema.Array(RulesetError),
  warnings: Schema.Array(RulesetWarning),
  diff: Schema.NullOr(FirewallDiff).annotations({ description: "what applying would change; null if not valid" })
}).annotations({ identifier: "Validation" })

export const ApplyAnswer = Schema.Struct({
  success: Schema.Literal(true),
  config_id: FirewallConfigId,
  status: FirewallStatus,
  revision: Schema.Int,
  previous_revision: Schema.NullOr(Schema.Int),
  applied_at: Schema.NullOr(Schema.DateTimeUtc),
  confirm_deadline: Schema.NullOr(Schema.DateTimeUtc),
  diff: FirewallDiff
}).annotations({ identifier: "ApplyAnswer" })

/** Answer of a delete (specification section 3). */
export const ConfigDeleted = Schema.Struct({
  success: Schema.Literal(true),
  id: FirewallConfigId,
  deactivated: Schema.Boolean,
  is_deleted: Schema.Literal(1)
}).annotations({ identifier: "ConfigDeleted" })

export const RunningRuleset = Schema.Struct({
  nftables: Schema.Array(Schema.Unknown),
  configs: Schema.Array(Schema.Struct({
    id: FirewallConfigId,
    name: Schema.String,
    tables: Schema.Array(Schema.String),
    drifted: Schema.Boolean,
    drift: FirewallDiff
  })),
  foreign_tables: Schema.Array(Schema.String).annotations({ description: "tables that no configuration owns" })
}).annotations({ identifier: "RunningRuleset" })
