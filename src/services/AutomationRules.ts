import { Context, Data, type DateTime, type Effect } from "effect"
import type { AutomationRule, RuleDraft, RuleId } from "../schema/AutomationRule.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

export class RuleMissing extends Data.TaggedError("AutomationRules/RuleMissing")<{ readonly id: string }> {}

/** The saved automation rules; shared by all users. */
export class AutomationRules extends Context.Tag("services/AutomationRules")<
  AutomationRules,
  {
    readonly create: (rule: {
      readonly id: RuleId
      readonly draft: RuleDraft
      readonly by: UserId
      readonly at: DateTime.Utc
    }) => Effect.Effect<AutomationRule>
    readonly get: (id: RuleId) => Effect.Effect<AutomationRule, RuleMissing>
    /** Newest first. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<AutomationRule>, InvalidCursor>
    readonly update: (
      id: RuleId,
      change: {
        readonly draft: RuleDraft
        readonly by: UserId
        readonly at: DateTime.Utc
        readonly expected?: Expected
      }
    ) => Effect.Effect<AutomationRule, RuleMissing | RevisionMismatch>
    readonly remove: (id: RuleId, expected?: Expected) => Effect.Effect<void, RuleMissing | RevisionMismatch>
  }
>() {}
