import { Context, type Effect } from "effect"
import type { RuleId } from "../schema/AutomationRule.ts"

/** The clients on which a rule acted. */
export class RuleTargets extends Context.Tag("services/RuleTargets")<
  RuleTargets,
  {
    /** Those with an action in force that a run of the rule ordered. */
    readonly of: (rule: RuleId) => Effect.Effect<ReadonlyArray<string>>
  }
>() {}
