import { Schema } from "effect"
import { UserId } from "./User.ts"

/** Largest request body and largest transaction, in bytes. */
export const rulesetBytesMax = 32 * 1024 * 1024

export const FirewallConfigId = Schema.UUID.pipe(Schema.brand("FirewallConfigId"))
export type FirewallConfigId = typeof FirewallConfigId.Type

/** A declarative ruleset in libnftables JSON; its commands are judged by the policy and by nft, not by this schema. */
export const Ruleset = Schema.Struct({
  nftables: Schema.Array(Schema.Unknown).annotations({
    description: "libnftables-json(5): list objects or `add` commands",
    jsonSchema: { type: "array", items: { type: "object" } }
  })
}).annotations({ identifier: "Ruleset" })
export type Ruleset = typeof Ruleset.Type

/** A family and a name, as in `inet filter`: what nft knows a table by. */
export const TableName = Schema.String

const Name = Schema.String.pipe(Schema.pattern(/^[^\0-\x1f\x7f\ud800-\udfff]{1,128}$/, {
  message: () => "Expected 1 to 128 characters, none of them a control character"
}))
const Prose = Schema.String.pipe(Schema.pattern(/^[^\0\ud800-\udfff]{0,2000}$/u, {
  message: () => "Expected at most 2000 characters of text"
}))

/** What a user says of a configuration; every save is a version of its own. */
export const FirewallDraft = Schema.Struct({
  name: Name,
  description: Schema.optionalWith(Prose, { default: () => "" }),
  ruleset: Ruleset,
  comment: Schema.optionalWith(Prose, { default: () => "" }).annotations({ description: "why this version" })
}).annotations({ identifier: "FirewallDraft" })
export type FirewallDraft = typeof FirewallDraft.Type

export const FirewallStatus = Schema.Literal("draft", "active", "pending_confirmation", "inactive", "failed")
export type FirewallStatus = typeof FirewallStatus.Type

const Flag = Schema.Literal(0, 1)

const summary = {
  id: FirewallConfigId,
  name: Schema.String,
  description: Schema.String,
  version: Schema.Int.annotations({ description: "of the ruleset as saved, counted from 1" }),
  checksum: Schema.String.annotations({ description: "`sha256:` and hex over the ruleset with sorted keys" }),
  tables: Schema.Array(TableName).annotations({ description: "the tables that the saved ruleset owns" }),
  status: FirewallStatus,
  is_active: Flag,
  is_deleted: Flag,
  applied_version: Schema.NullOr(Schema.Int).annotations({ description: "the version that runs" }),
  applied_at: Schema.NullOr(Schema.DateTimeUtc),
  confirm_deadline: Schema.NullOr(Schema.DateTimeUtc).annotations({
    description: "when the tables from before come back unless the apply is confirmed"
  }),
  comment: Schema.String,
  created_by: UserId,
  updated_by: UserId,
  created_at: Schema.DateTimeUtc,
  updated_at: Schema.DateTimeUtc
}

/** A configuration as lists show it: without its ruleset. */
export const FirewallConfigSummary = Schema.Struct(summary).annotations({ identifier: "FirewallConfigSummary" })
export type FirewallConfigSummary = typeof FirewallConfigSummary.Type

export const FirewallConfig = Schema.Struct({ ...summary, ruleset: Ruleset }).annotations({
  identifier: "FirewallConfig"
})
export type FirewallConfig = typeof FirewallConfig.Type

/** One saved version of a configuration. */
export const FirewallRevision = Schema.Struct({
  version: Schema.Int,
  name: Schema.String,
  description: Schema.String,
  ruleset: Ruleset,
  checksum: Schema.String,
  comment: Schema.String,
  created_by: UserId,
  created_at: Schema.DateTimeUtc
}).annotations({ identifier: "FirewallRevision" })
export type FirewallRevision = typeof FirewallRevision.Type

/** One thing that differs; `path` names it as `chain input`, `rule input 3`, `element blocked 192.0.2.1`. */
export const FirewallChange = Schema.Struct({
  op: Schema.Literal("add", "remove", "change"),
  table: TableName,
  path: Schema.String,
  before: Schema.optional(Schema.Unknown),
  after: Schema.optional(Schema.Unknown)
}).annotations({ identifier: "FirewallChange" })
export type FirewallChange = typeof FirewallChange.Type

/** What applying would change; `changes` lists the first of them, the counts are of all. */
export const FirewallDiff = Schema.Struct({
  identical: Schema.Boolean,
  added: Schema.Int,
  removed: Schema.Int,
  changed: Schema.Int,
  changes: Schema.Array(FirewallChange)
}).annotations({ identifier: "FirewallDiff" })
export type FirewallDiff = typeof FirewallDiff.Type

/** One thing wrong with a ruleset; `pointer` (RFC 6901) is relative to the ruleset. */
export const RulesetError = Schema.Struct({
  source: Schema.Literal("policy", "nft"),
  pointer: Schema.String,
  message: Schema.String
}).annotations({ identifier: "RulesetError" })
export type RulesetError = typeof RulesetError.Type

/** What is valid and may not be meant. */
export const RulesetWarning = Schema.Struct({
  code: Schema.Literal("caller_locked_out", "established_not_accepted", "service_port_not_accepted", "table_foreign"),
  pointer: Schema.String,
  message: Schema.String
}).annotations({ identifier: "RulesetWarning" })
export type RulesetWarning = typeof RulesetWarning.Type

/** Shortest and longest time that an apply may wait for its confirmation, in seconds. */
export const confirmSeconds = { min: 1, max: 86_400 } as const

export const ConfirmSeconds = Schema.Int.pipe(Schema.between(confirmSeconds.min, confirmSeconds.max))
