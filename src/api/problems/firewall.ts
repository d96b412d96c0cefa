import { Schema } from "effect"
import { RulesetError } from "../../schema/FirewallConfig.ts"
import { Problem } from "../Problem.ts"

export class RulesetRejected extends Problem<RulesetRejected>()(
  "RulesetRejected",
  {
    status: 400,
    title: "The ruleset cannot be used",
    help: "`errors` names what this service refuses (`policy`) or what nft says (`nft`), and where. Nothing changed."
  },
  { errors: Schema.Array(RulesetError) }
) {}

export class TableOwned extends Problem<TableOwned>()(
  "TableOwned",
  {
    status: 400,
    title: "Another active configuration owns the table",
    help:
      "A table belongs to one active configuration: `owner` is its id. Name another table, or delete that one first."
  },
  { table: Schema.String, owner: Schema.String }
) {}

export class TableForeign extends Problem<TableForeign>()(
  "TableForeign",
  {
    status: 400,
    title: "The table runs and was not applied by this service",
    help: "Applying would replace it. Send `adopt: true` if that is meant."
  },
  { tables: Schema.Array(Schema.String) }
) {}

export class ApplyPending extends Problem<ApplyPending>()(
  "ApplyPending",
  {
    status: 400,
    title: "An apply waits for its confirmation",
    help: "Confirm it or roll it back first; at `confirm_deadline` the tables from before come back by themselves."
  },
  { confirm_deadline: Schema.DateTimeUtc }
) {}

export class NothingPending extends Problem<NothingPending>()(
  "NothingPending",
  {
    status: 400,
    title: "No apply waits for a confirmation",
    help: "`restored` tells whether its time had run out, so that the tables from before are back."
  },
  { restored: Schema.Boolean }
) {}

export class VersionConflict extends Problem<VersionConflict>()(
  "VersionConflict",
  {
    status: 400,
    title: "The configuration has another version than expected",
    help: "Somebody saved it again: `version` is the present one. Read it before applying."
  },
  { version: Schema.Int }
) {}
