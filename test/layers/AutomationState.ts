import { Context, DateTime, Either, Layer } from "effect"
import type { Action, ActionId } from "../../src/schema/Action.ts"
import type { Alarm, AlarmId, AlarmTransition } from "../../src/schema/Alarm.ts"
import type { AutomationRule, RuleId } from "../../src/schema/AutomationRule.ts"
import type { DueWindow } from "../../src/schema/DueWindow.ts"
import type { InvalidCursor, Page, PageRequest } from "../../src/schema/Page.ts"
import { pageOfRows, type Position, positionOf } from "../../src/schema/Position.ts"
import type { ProtectedMac } from "../../src/schema/ProtectedMac.ts"
import type { RuleRun, RunId } from "../../src/schema/RuleRun.ts"
import type { Beat, Claim, Span } from "../../src/services/DueWindows.ts"

/** A due window with whoever evaluates it. */
export interface HeldWindow {
  readonly id: string
  readonly window: DueWindow
  readonly claim: Claim | undefined
}

/** What the memory layers of rules, ledger and actions share, as tables of one database would. */
export class AutomationState extends Context.Tag("test/AutomationState")<
  AutomationState,
  {
    readonly rules: Map<RuleId, AutomationRule>
    readonly runs: Map<RunId, RuleRun>
    readonly cooldowns: Map<RuleId, Map<string, DateTime.Utc>>
    readonly actions: Map<ActionId, Action>
    readonly takes: Array<{ readonly rule: RuleId; readonly client: string; readonly seenAt: DateTime.Utc }>
    readonly spans: Map<number, Span>
    readonly windows: Map<string, HeldWindow>
    readonly beats: Array<Beat>
    readonly alarms: Map<AlarmId, Alarm>
    readonly transitions: Array<AlarmTransition>
    readonly protectedMacs: Map<string, ProtectedMac>
  }
>() {}

/** One state for all layers that are built together. */
export const AutomationStateMemory = Layer.sync(AutomationState, () => ({
  rules: new Map(),
  runs: new Map(),
  cooldowns: new Map(),
  actions: new Map(),
  takes: [],
  spans: new Map(),
  windows: new Map(),
  beats: [],
  alarms: new Map(),
  transitions: [],
  protectedMacs: new Map()
}))

const newer = (a: Position, b: Position): number =>
  DateTime.toEpochMillis(b.at) - DateTime.toEpochMillis(a.at) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)

/** A page of rows, newest first. */
export const newestOf = <A>(
  all: Iterable<A>,
  request: PageRequest,
  position: (row: A) => Position
): Either.Either<Page<A>, InvalidCursor> =>
  Either.map(positionOf(request.cursor), (after) => {
    const sorted = [...all].sort((a, b) => newer(position(a), position(b)))
    const rest = after === undefined ? sorted : sorted.filter((row) => newer(after, position(row)) < 0)
    return pageOfRows(rest.slice(0, request.limit + 1), request.limit, sorted.length, position)
  })
