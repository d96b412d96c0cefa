import type { NftCommandObject, NftObject } from "../schema/Nftables.ts"
import { type EnforcedSet, enforcedSets, type EnforceFamily, enforceTable } from "./enforceTable.ts"

/** MACs with the time, in milliseconds of the epoch, at which each ends; `Infinity` is never. */
export type Deadlines = ReadonlyMap<string, number>
export type EnforcedMacs = Readonly<Record<EnforcedSet, Deadlines>>

export interface SetChange {
  readonly add: ReadonlyArray<readonly [mac: string, deadlineMs: number]>
  readonly remove: ReadonlyArray<string>
  /** Of those to remove the ones with a timeout, which may run out meanwhile. */
  readonly lapsing: ReadonlyArray<string>
}
export type EnforcementChange = Readonly<Record<EnforcedSet, SetChange>>

const dayMs = 86_400_000
/** The kernel counts a timeout in 32 bits of milliseconds at the least: longer ones are given in parts. */
const timeoutMaxMs = 30 * dayMs
const renewBelowMs = 15 * dayMs
/** Listings give whole seconds, and take a while. */
const toleranceMs = 3000

const holds = (appliedMs: number, wantedMs: number, nowMs: number): boolean => {
  if (wantedMs === Infinity || appliedMs === Infinity) return wantedMs === appliedMs
  if (Math.abs(appliedMs - wantedMs) <= toleranceMs) return true
  return appliedMs < wantedMs && appliedMs >= nowMs + renewBelowMs
}

const changeOf = (applied: Deadlines, desired: Deadlines, macs: Iterable<string>, nowMs: number): SetChange => {
  const add: Array<readonly [string, number]> = []
  const remove: Array<string> = []
  const lapsing: Array<string> = []
  for (const mac of macs) {
    const has = applied.get(mac)
    const wants = desired.get(mac)
    const standing = has !== undefined && has > nowMs
    const wanted = wants !== undefined && wants > nowMs
    if (standing && !(wanted && holds(has, wants, nowMs))) {
      // Also what is to be prolonged: an element that stands keeps its timeout when it is added again.
      remove.push(mac)
      if (has !== Infinity) lapsing.push(mac)
    }
    if (wanted && !(standing && holds(has, wants, nowMs))) {
      add.push([mac, Math.min(wants, wants === Infinity ? wants : nowMs + timeoutMaxMs)])
    }
  }
  return { add, remove, lapsing }
}

/** What makes the applied sets equal to the desired ones, for these MACs or for all. */
export const difference = (
  applied: EnforcedMacs,
  desired: EnforcedMacs,
  nowMs: number,
  macs?: ReadonlySet<string>
): EnforcementChange => {
  const of = (set: EnforcedSet) =>
    changeOf(applied[set], desired[set], macs ?? new Set([...applied[set].keys(), ...desired[set].keys()]), nowMs)
  return { blocked_macs: of("blocked_macs"), quarantined_macs: of("quarantined_macs") }
}

export const isNothing = (change: EnforcementChange): boolean =>
  enforcedSets.every((set) => change[set].add.length + change[set].remove.length === 0)

/** The sets after the change. */
export const changed = (applied: EnforcedMacs, change: EnforcementChange): EnforcedMacs => {
  const after = (set: EnforcedSet) => {
    const macs = applied[set] as Map<string, number>
    for (const mac of change[set].remove) macs.delete(mac)
    for (const [mac, deadline] of change[set].add) macs.set(mac, deadline)
    return macs
  }
  return { blocked_macs: after("blocked_macs"), quarantined_macs: after("quarantined_macs") }
}

/** Adding before deleting makes a deletion hold also for what has just run out, and takes half as long again. */
export const elementCommands = (
  family: EnforceFamily,
  change: EnforcementChange,
  nowMs: number
): ReadonlyArray<NftCommandObject> =>
  enforcedSets.flatMap((name) => {
    const element = (elem: ReadonlyArray<unknown>) => ({ element: { family, table: enforceTable, name, elem } })
    const { add, lapsing, remove } = change[name]
    const timed = add.map(([val, deadline]) =>
      deadline === Infinity ? val : { elem: { val, timeout: Math.max(1, Math.ceil((deadline - nowMs) / 1000)) } }
    )
    return [
      ...(lapsing.length === 0 ? [] : [{ add: element(lapsing) }]),
      ...(remove.length === 0 ? [] : [{ delete: element(remove) }]),
      ...(timed.length === 0 ? [] : [{ add: element(timed) }])
    ]
  })

type Json = Readonly<Record<string, unknown>>

/** The elements that a listing shows; without the table there are none. */
export const listedMacs = (listed: ReadonlyArray<NftObject>, family: EnforceFamily, nowMs: number): EnforcedMacs => {
  const found: Record<EnforcedSet, Map<string, number>> = { blocked_macs: new Map(), quarantined_macs: new Map() }
  for (const object of listed) {
    const set = object["set"] as Json | undefined
    if (set?.["family"] !== family || set["table"] !== enforceTable) continue
    const macs = found[set["name"] as EnforcedSet]
    if (macs === undefined) continue
    for (const element of (set["elem"] ?? []) as ReadonlyArray<string | { readonly elem: Json }>) {
      if (typeof element === "string") macs.set(element, Infinity)
      else {
        const { expires, timeout, val } = element.elem
        const leftS = expires ?? timeout
        macs.set(String(val), leftS === undefined ? Infinity : nowMs + Number(leftS) * 1000)
      }
    }
  }
  return found
}
