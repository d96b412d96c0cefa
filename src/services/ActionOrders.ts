import { DateTime, Duration } from "effect"
import type { ActionId, ActionSpec, ActionType } from "../schema/Action.ts"
import { clientOfDetection, type DetectedMac } from "../schema/Detection.ts"
import type { Enforcement } from "./RuleLedger.ts"

/** An action to be in force for a client. */
export interface ActionOrder {
  /** id of the action, should there be none in force yet */
  readonly id: ActionId
  readonly type: ActionType
  readonly tag: string | null
  readonly client: string
  readonly client_mac: string | null
  readonly expires_at: DateTime.Utc | null
}

const longer = (a: ActionSpec, b: ActionSpec): ActionSpec =>
  a.duration_minutes === undefined || (b.duration_minutes !== undefined && b.duration_minutes <= a.duration_minutes)
    ? a
    : b

/** One spec for each kind of action and tag: of several the longest, and without a duration is for ever. */
const distinct = (specs: ReadonlyArray<ActionSpec>): ReadonlyArray<ActionSpec> => {
  const longest = new Map<string, ActionSpec>()
  for (const spec of specs) {
    const key = `${spec.type} ${spec.tag ?? ""}`
    const known = longest.get(key)
    longest.set(key, known === undefined ? spec : longer(known, spec))
  }
  return [...longest.values()]
}

const ordered = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** The clients of these detections, each once, in the one order in which all nodes take them. */
export const clientsOf = (detections: ReadonlyArray<DetectedMac>): ReadonlyArray<string> =>
  [...new Set(detections.map(clientOfDetection))].sort(ordered)

/**
 * What an enforcement orders for the detections that it took: each action once for each client. Only tags can be put
 * on a client without a MAC, the packet filter knows no other name.
 */
export const ordersOf = (
  enforcement: Pick<Enforcement, "actions" | "at" | "ids">,
  taken: ReadonlyArray<DetectedMac>
): ReadonlyArray<ActionOrder> => {
  const specs = distinct(enforcement.actions).map(({ duration_minutes, tag, type }) => ({
    type,
    tag: tag ?? null,
    expires_at: duration_minutes === undefined
      ? null
      : DateTime.addDuration(enforcement.at, Duration.minutes(duration_minutes))
  }))
  const macs = new Map(taken.map((detection) => [clientOfDetection(detection), detection.MAC]))
  const orders: Array<ActionOrder> = []
  for (const client of clientsOf(taken)) {
    const client_mac = macs.get(client) || null
    for (const spec of specs) {
      if (client_mac === null && spec.type !== "tag") continue
      orders.push({ ...spec, id: enforcement.ids[orders.length]!, client, client_mac })
    }
  }
  return orders
}

/** Whether an action in force that ends at `held` is to end later, at `wanted`; null is never. */
export const prolongs = (held: DateTime.Utc | null, wanted: DateTime.Utc | null): boolean =>
  held !== null && (wanted === null || DateTime.greaterThan(wanted, held))

/** Names a kind of action on a client: at most one of a kind is in force. */
export const keyOfOrder = ({ client, tag, type }: Pick<ActionOrder, "client" | "type" | "tag">): string =>
  `${client} ${type} ${tag ?? ""}`

/** Why an order isn't carried out: its client is on the never-block list, or the blocks of this hour are used up. */
export type RefusalReason = "protected" | "hourly_cap"

export interface Refusal {
  readonly order: ActionOrder
  readonly reason: RefusalReason
}

/** What binds every order, whoever gives it. */
export interface Guard {
  /** MACs that are neither blocked nor quarantined. */
  readonly isProtected: (mac: string) => boolean
  /** Whether the client is blocked already: prolonging uses up nothing. */
  readonly isBlocked: (client: string) => boolean
  /** Blocks that may still begin in this hour. */
  readonly room: number
}

/** Parts the orders into those that the guard lets pass and the others, both in the order they came. */
export const admit = (
  orders: ReadonlyArray<ActionOrder>,
  guard: Guard
): { readonly admitted: ReadonlyArray<ActionOrder>; readonly refused: ReadonlyArray<Refusal> } => {
  const admitted: Array<ActionOrder> = []
  const refused: Array<Refusal> = []
  let room = guard.room
  for (const order of orders) {
    const harms = order.type === "block" || order.type === "quarantine"
    if (harms && order.client_mac !== null && guard.isProtected(order.client_mac)) {
      refused.push({ order, reason: "protected" })
    } else if (order.type !== "block" || guard.isBlocked(order.client)) admitted.push(order)
    else if (room > 0) {
      room--
      admitted.push(order)
    } else refused.push({ order, reason: "hourly_cap" })
  }
  return { admitted, refused }
}
