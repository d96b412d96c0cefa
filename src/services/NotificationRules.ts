import { Context, Data, type DateTime, type Effect } from "effect"
import type {
  NotificationRule,
  NotificationRuleDraft,
  NotificationRuleId,
  Silence,
  SilenceId
} from "../schema/NotificationRule.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

export class NotificationRuleMissing extends Data.TaggedError("NotificationRules/Missing")<{ readonly id: string }> {}

/** A change of a rule by a user. */
export interface RuleChange<A> {
  readonly draft: A
  readonly by: UserId
  readonly at: DateTime.Utc
  readonly expected?: Expected
}

/** The saved notification rules; shared by all users. */
export class NotificationRules extends Context.Tag("services/NotificationRules")<
  NotificationRules,
  {
    readonly create: (
      id: NotificationRuleId,
      change: RuleChange<NotificationRuleDraft>
    ) => Effect.Effect<NotificationRule>
    readonly get: (id: NotificationRuleId) => Effect.Effect<NotificationRule, NotificationRuleMissing>
    /** Newest first. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<NotificationRule>, InvalidCursor>
    readonly enabled: Effect.Effect<ReadonlyArray<NotificationRule>>
    readonly update: (
      id: NotificationRuleId,
      change: RuleChange<NotificationRuleDraft>
    ) => Effect.Effect<NotificationRule, NotificationRuleMissing | RevisionMismatch>
    readonly remove: (
      id: NotificationRuleId,
      expected?: Expected
    ) => Effect.Effect<void, NotificationRuleMissing | RevisionMismatch>
  }
>() {}

export class SilenceMissing extends Data.TaggedError("Silences/Missing")<{ readonly id: string }> {}

/** What mutes notifications for a time. */
export class Silences extends Context.Tag("services/Silences")<
  Silences,
  {
    readonly create: (silence: Silence) => Effect.Effect<Silence>
    readonly get: (id: SilenceId) => Effect.Effect<Silence, SilenceMissing>
    /** Newest first, expired ones too. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<Silence>, InvalidCursor>
    /** Those in force at this time. */
    readonly active: (at: DateTime.Utc) => Effect.Effect<ReadonlyArray<Silence>>
    /** Ends it now, or takes it back where it hasn't begun. */
    readonly expire: (id: SilenceId, at: DateTime.Utc) => Effect.Effect<Silence, SilenceMissing>
  }
>() {}
