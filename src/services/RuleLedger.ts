import { Context, type DateTime, type Effect } from "effect"
import type { ActionId, ActionSpec } from "../schema/Action.ts"
import type { RuleId } from "../schema/AutomationRule.ts"
import type { DetectedMac } from "../schema/Detection.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { RuleRun, RunId } from "../schema/RuleRun.ts"
import type { RuleMissing } from "./AutomationRules.ts"
import type { DueLost } from "./DueWindows.ts"

/** What an enforcing run wants to do: each action for each client, and the cooldown that follows. */
export interface Enforcement {
  readonly rule: RuleId
  readonly run: RunId
  readonly at: DateTime.Utc
  readonly detections: ReadonlyArray<DetectedMac>
  readonly actions: ReadonlyArray<ActionSpec>
  readonly cooldownUntil: DateTime.Utc
  /** Time of the evaluated traffic, which of a backfilled window lies in the past. */
  readonly seenAt: DateTime.Utc
  /** Leaves clients alone that the rule took for traffic within this many minutes before or after `seenAt`. */
  readonly apartMinutes: number
  readonly reason: string
  /** Ids for the actions that may be created, `detections × actions` of them. */
  readonly ids: ReadonlyArray<ActionId>
}

/** What came of it. */
export interface Enforced {
  /** The clients that no other run had taken meanwhile. */
  readonly detections: ReadonlyArray<DetectedMac>
  /** Actions that were created or prolonged. */
  readonly actionsTriggered: number
  /** Orders that were not carried out: clients on the never-block list, and blocks above those allowed in an hour. */
  readonly actionsRefused: number
}

/**
 * The runs of rules, and for how long a rule leaves a client alone. A client is taken by exactly one of any number of
 * runs that detect it at once.
 */
export class RuleLedger extends Context.Tag("services/RuleLedger")<
  RuleLedger,
  {
    /** Clients that the rule leaves alone at this time. */
    readonly inCooldown: (rule: RuleId, at: DateTime.Utc) => Effect.Effect<ReadonlyArray<string>>
    /** Records a run that acts on nothing, and with it the verdict on the window it was due for. */
    readonly record: (run: RuleRun) => Effect.Effect<void, RuleMissing | DueLost>
    /**
     * In one transaction: takes the detections that are free, orders their actions as desired state, and records the
     * run with what `conclude` makes of the outcome, and the verdict on the window it was due for.
     */
    readonly enforce: (
      enforcement: Enforcement,
      conclude: (outcome: Enforced) => RuleRun
    ) => Effect.Effect<RuleRun, RuleMissing | DueLost>
    /** Newest first. */
    readonly runs: (rule: RuleId, page: PageRequest) => Effect.Effect<Page<RuleRun>, InvalidCursor>
  }
>() {}
