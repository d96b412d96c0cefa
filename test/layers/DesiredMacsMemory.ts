import { DateTime, Effect, Layer, Stream } from "effect"
import { Action, type ActionType } from "../../src/schema/Action.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { actionAt } from "../../src/services/Actions.ts"
import { DesiredMacs, type DueAction } from "../../src/services/DesiredMacs.ts"
import { AutomationState, AutomationStateMemory } from "./AutomationState.ts"

const compared = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0
const seen = (action: Action): DueAction => ({
  id: action.id,
  client_mac: action.client_mac ?? "",
  version: JSON.stringify(action)
})

export const DesiredMacsMemory = Layer.effect(
  DesiredMacs,
  Effect.gen(function*() {
    const { actions, protectedMacs } = yield* AutomationState
    const limits = yield* ActionLimits
    const looks: Array<ReadonlyArray<DueAction>> = []
    const inForce = (type: ActionType, at: DateTime.Utc) =>
      [...actions.values()].filter((action) => action.type === type && actionAt(action, at).status === "active")
    /** Changes those that are as they were seen. */
    const change = (known: ReadonlyArray<DueAction>, changed: (action: Action) => Action | undefined) =>
      Effect.sync(() =>
        known.filter(({ id, version }) => {
          const action = actions.get(id)
          const next = action === undefined || seen(action).version !== version ? undefined : changed(action)
          if (next !== undefined) actions.set(id, next)
          return next !== undefined
        }).length
      )
    return DesiredMacs.of({
      desired: (at, macs) =>
        Effect.sync(() => {
          const exempt = new Set(inForce("allow", at).map(({ client_mac }) => client_mac))
          const deadlines = (type: ActionType) =>
            new Map(
              inForce(type, at).filter(({ client_mac }) =>
                client_mac !== null && !exempt.has(client_mac) && !protectedMacs.has(client_mac) &&
                !limits.protectedMacs.has(client_mac) && (macs === undefined || macs.includes(client_mac))
              ).map(({ client_mac, expires_at }) => [
                client_mac!,
                expires_at === null ? Infinity : DateTime.toEpochMillis(expires_at)
              ])
            )
          return { blocked_macs: deadlines("block"), quarantined_macs: deadlines("quarantine") }
        }),
      behind: Effect.sync(() => {
        const behind = [...actions.values()].filter(({ synced_at, type }) => synced_at === null && type !== "tag")
          .map(seen).sort((a, b) => compared(a.client_mac, b.client_mac))
        return { macs: behind.map(({ client_mac }) => client_mac), change: looks.push(behind) }
      }),
      markSynced: (look, at, families) =>
        Effect.asVoid(change(looks[look - 1] ?? [], (action) => {
          const stopped = action.status === "active" && (action.type === "block" || action.type === "quarantine")
          return new Action({ ...action, synced_at: at, enforced_at: stopped ? families : [] })
        })),
      due: (at, kind, limit) =>
        Effect.sync(() =>
          [...actions.values()].filter((action) =>
            action.status === "active" && actionAt(action, at).status === "expired" &&
            (kind === "any" || action.type === kind)
          ).sort((a, b) => DateTime.toEpochMillis(a.expires_at!) - DateTime.toEpochMillis(b.expires_at!))
            .slice(0, limit).map(seen)
        ),
      markExpired: (known, at) =>
        change(known, (action) =>
          action.status === "active"
            ? new Action({ ...action, status: "expired", ended_at: action.expires_at, synced_at: at, enforced_at: [] })
            : undefined),
      changes: Stream.never
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
