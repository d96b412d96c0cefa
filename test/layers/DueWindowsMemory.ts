import { DateTime, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import type { RuleId } from "../../src/schema/AutomationRule.ts"
import type { DueWindow } from "../../src/schema/DueWindow.ts"
import type { RunId } from "../../src/schema/RuleRun.ts"
import { type Claim, DueWindows, type Span } from "../../src/services/DueWindows.ts"
import { AutomationState, AutomationStateMemory, type HeldWindow, newestOf } from "./AutomationState.ts"

const keyOf = (rule: RuleId, due: DateTime.Utc) => `${rule} ${DateTime.toEpochMillis(due)}`
const daysKept = { windows: 90, takes: 45 }

export const DueWindowsMemory = Layer.effect(
  DueWindows,
  Effect.map(AutomationState, ({ beats, rules, spans, takes, windows }) => {
    const put = (window: DueWindow, claim: Claim | undefined) => {
      const key = keyOf(window.rule_id, window.due_at)
      windows.set(key, { id: windows.get(key)?.id ?? randomUUID(), window, claim })
    }
    const settle = (span: Span, settled: DateTime.Utc) => {
      const held = spans.get(span.id)
      if (held !== undefined) spans.set(span.id, { ...held, settled: DateTime.max(held.settled, settled) })
    }
    const isUnsettled = ({ settled, until }: Span) => until === null || DateTime.lessThan(settled, until)
    const running = (takes: (held: HeldWindow) => boolean) =>
      [...windows.values()].filter((held) => held.window.verdict === "running" && takes(held))
    const giveBack = ({ window }: HeldWindow, verdict: "failed" | "missed", reason: string) =>
      put({ ...window, verdict, reason, run_id: null }, undefined)
    const open = ({ through, verdict }: DueWindow) => (verdict === "missed" || verdict === "failed") && through === null
    const release = (run: RunId, verdict: "failed" | "missed", reason: string) => {
      const held = running(({ claim }) => claim?.run === run)
      for (const window of held) giveBack(window, verdict, reason)
      return held.length === 1
    }

    return DueWindows.of({
      spans: Effect.sync(() => [...spans.values()].filter(isUnsettled)),
      claim: (span, due, claim) =>
        Effect.sync(() => {
          if (spans.get(span.id)?.until !== null) return false
          settle(span, due)
          if (windows.has(keyOf(span.rule, due))) return false
          const window = { rule_id: span.rule, due_at: due, through: null, run_id: claim.run, reason: "" }
          put({ ...window, verdict: "running" }, claim)
          return true
        }),
      pass: (span, { reason, settled, verdict, windows: passed }) =>
        Effect.sync(() => {
          if (!rules.has(span.rule)) return
          for (const window of passed) {
            if (windows.has(keyOf(span.rule, window.due_at))) continue
            put({ ...window, rule_id: span.rule, verdict, reason, run_id: null }, undefined)
          }
          settle(span, settled)
        }),
      renew: (owner, leaseUntil) =>
        Effect.sync(() => {
          for (const { claim, window } of running(({ claim }) => claim?.owner === owner)) {
            put(window, { ...claim!, leaseUntil })
          }
        }),
      release: (run, verdict, reason) => Effect.sync(() => release(run, verdict, reason)),
      abandon: (now) =>
        Effect.sync(() => {
          const lapsed = running(({ claim }) => DateTime.lessThan(claim!.leaseUntil, now))
          for (const held of lapsed) giveBack(held, "missed", "the node that ran it is gone")
          return lapsed.length
        }),
      list: (rule, { verdict, ...request }) =>
        Effect.suspend(() =>
          Effect.map(
            newestOf(
              [...windows.values()].filter(({ window }) =>
                window.rule_id === rule && (verdict === undefined || window.verdict === verdict)
              ),
              request,
              ({ id, window }) => ({ at: window.due_at, id })
            ),
            (page) => ({ ...page, items: page.items.map(({ window }) => window) })
          )
        ),
      missed: (rule, { after, limit, through }) =>
        Effect.sync(() => {
          const due = [...windows.values()].map(({ window }) => window).filter((window) =>
            window.rule_id === rule && open(window) && DateTime.greaterThan(window.due_at, after) &&
            DateTime.lessThanOrEqualTo(window.due_at, through)
          ).map(({ due_at }) => due_at).sort((a, b) => DateTime.distance(b, a))
          return { due: due.slice(0, limit), total: due.length }
        }),
      reclaim: (rule, due, claim) =>
        Effect.sync(() => {
          const held = windows.get(keyOf(rule, due))
          if (held === undefined || !open(held.window)) return false
          put({ ...held.window, verdict: "running", reason: "", run_id: claim.run }, claim)
          return true
        }),
      running: Effect.sync(() =>
        running(() => true).map(({ window: { due_at, rule_id } }) => ({ due_at, rule_id }))
          .sort((a, b) => DateTime.distance(b.due_at, a.due_at))
      ),
      beat: (beat) => Effect.sync(() => void beats.splice(0, beats.length, beat)),
      latestBeat: Effect.sync(() => beats[0]),
      forget: (now) =>
        Effect.sync(() => {
          for (const span of [...spans.values()]) if (!isUnsettled(span)) spans.delete(span.id)
          const oldest = DateTime.subtract(now, { days: daysKept.windows })
          for (const [key, { window }] of [...windows]) {
            if (window.verdict !== "running" && DateTime.lessThan(window.due_at, oldest)) windows.delete(key)
          }
          const kept = takes.filter(({ seenAt }) =>
            DateTime.greaterThanOrEqualTo(seenAt, DateTime.subtract(now, { days: daysKept.takes }))
          )
          takes.splice(0, takes.length, ...kept)
        })
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
