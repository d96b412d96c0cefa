import { Context, Data, type DateTime, type Effect } from "effect"
import type { Alarm, AlarmId, AlarmKind, AlarmStatus, AlarmTransition } from "../schema/Alarm.ts"
import type { RuleId } from "../schema/AutomationRule.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { UserId } from "../schema/User.ts"
import type { Observation } from "./AlarmRules.ts"
import type { Condition } from "./ConditionAlarm.ts"

export class AlarmMissing extends Data.TaggedError("Alarms/AlarmMissing")<{ readonly id: string }> {}

/** Nobody can take note of an alarm that is over. */
export class AlarmResolved extends Data.TaggedError("Alarms/AlarmResolved")<{ readonly id: string }> {}

export interface AlarmQuery extends PageRequest {
  readonly kind?: AlarmKind | undefined
  readonly status?: AlarmStatus | undefined
  readonly rule_id?: RuleId | undefined
  readonly client?: string | undefined
  readonly severity?: Alarm["severity"] | undefined
  /** Alarms that were open at any time from here … */
  readonly start?: DateTime.Utc | undefined
  /** … up to here. */
  readonly end?: DateTime.Utc | undefined
}

/** What a user does to an alarm. */
export interface AlarmMove {
  readonly by: UserId
  readonly at: DateTime.Utc
  readonly requestId: string
  readonly comment: string | undefined
}

/** The alarms; each change of a status is recorded in the same transaction, to be told on. */
export class Alarms extends Context.Tag("services/Alarms")<
  Alarms,
  {
    readonly get: (id: AlarmId) => Effect.Effect<Alarm, AlarmMissing>
    /** Newest first. */
    readonly list: (query: AlarmQuery) => Effect.Effect<Page<Alarm>, InvalidCursor>
    /** Opens, refreshes, reopens and resolves the alarms of the rule by what a run saw; nothing where the rule is gone. */
    readonly observe: (observation: Observation) => Effect.Effect<void>
    /** Opens, refreshes or resolves the one alarm of a condition of the service; gives what changed, if anything did. */
    readonly note: (condition: Condition) => Effect.Effect<AlarmTransition | undefined>
    readonly acknowledge: (id: AlarmId, move: AlarmMove) => Effect.Effect<Alarm, AlarmMissing | AlarmResolved>
    /** Of an alarm that is over already, the answer is the alarm as it is. */
    readonly resolve: (id: AlarmId, move: AlarmMove) => Effect.Effect<Alarm, AlarmMissing>
    /** Resolves the open alarms of rules that are gone. */
    readonly resolveOrphans: (at: DateTime.Utc) => Effect.Effect<void>
    /**
     * Hands on the oldest untold transitions, at most 1000, and forgets them once that succeeded; gives their number.
     * The same batch holds the same transitions however often it has to be tried.
     */
    readonly tell: <E, R>(
      hand: (batch: string, transitions: ReadonlyArray<AlarmTransition>) => Effect.Effect<void, E, R>
    ) => Effect.Effect<number, E, R>
  }
>() {}
