import { DateTime } from "effect"
import { Action } from "../../src/schema/Action.ts"
import { type ActionOrder, admit, keyOfOrder, prolongs } from "../../src/services/ActionOrders.ts"
import { actionAt, type OrderedBy } from "../../src/services/Actions.ts"
import type { AutomationState } from "./AutomationState.ts"

interface Limits {
  readonly protectedMacs: ReadonlySet<string>
  readonly blocksPerHour: number
}

/** Places orders in memory as `orderStatements` does in Postgres. */
export const placeInMemory = (
  { actions, protectedMacs }: AutomationState["Type"],
  limits: Limits,
  orders: ReadonlyArray<ActionOrder>,
  { at, origin, reason }: OrderedBy
) => {
  const held = new Map<string, Action>()
  const keys = new Set(orders.map(keyOfOrder))
  let begun = 0
  for (const action of [...actions.values()]) {
    if (action.type === "block" && DateTime.greaterThan(action.created_at, DateTime.subtract(at, { hours: 1 }))) begun++
    if (!keys.has(keyOfOrder(action))) continue
    const current = actionAt(action, at)
    if (current !== action) actions.set(action.id, new Action({ ...current, synced_at: null, enforced_at: [] }))
    if (current.status === "active") held.set(keyOfOrder(current), current)
  }
  const { admitted, refused } = admit(orders, {
    isProtected: (mac) => limits.protectedMacs.has(mac) || protectedMacs.has(mac),
    isBlocked: (client) => held.has(keyOfOrder({ client, type: "block", tag: null })),
    room: limits.blocksPerHour - begun
  })
  const changed = admitted.filter((order) => {
    const known = held.get(keyOfOrder(order))
    if (known !== undefined && !prolongs(known.expires_at, order.expires_at)) return false
    const action = known ?? { ...order, status: "active" as const, reason, origin, created_at: at, ended_at: null }
    actions.set(action.id, new Action({ ...action, expires_at: order.expires_at, synced_at: null, enforced_at: [] }))
    return true
  })
  return { changed, held, refused }
}
